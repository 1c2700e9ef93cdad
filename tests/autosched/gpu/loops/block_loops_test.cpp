// tests/autosched/gpu/loops/block_loops_test.cpp -- what a block takes, and how many threads it
// has.
#include "autosched/gpu/loops/block_loops.hpp"

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Kind = BlockShare::Kind;

BlockShare share_of(const Graph& graph, const GpuMachine& machine = kGpu) {
  const Program p = initial_program(graph, machine);
  return block_share(p.graph, p.graph.stages.back(), machine);
}
Graph row_sums(int64_t rows, int64_t row) {
  return parse_graph("def f(float(" + std::to_string(rows) + ", " + std::to_string(row) +
                     ") x) -> (y) { y(i) +=! x(i, r) }");
}

TEST(BlockLoops, RowsAreWhereMemoryIsContiguousAlongTheReduction) {
  EXPECT_EQ(share_of(row_sums(4096, 1024)).kind, Kind::Rows);
  EXPECT_EQ(share_of(row_sums(4096, 1024)).results, 1);
  EXPECT_EQ(share_of(row_sums(4096, 100)).results, 8) << "short rows share a block";
  EXPECT_EQ(share_of(row_sums(200, 100)).results, 1) << "not those of idle multiprocessors";
  EXPECT_EQ(share_of(row_sums(4096, 100)).blocks, 512);
  EXPECT_EQ(share_of(row_sums(4096, 16)).kind, Kind::None) << "a thread adds them up";
}

TEST(BlockLoops, ColumnsAreWhereItIsAlongTheResults) {
  EXPECT_EQ(share_of(column_sum_graph(1000, 1024)).kind, Kind::Columns);
  EXPECT_EQ(share_of(column_sum_graph(1000, 1024)).results, 128) << "32 threads' vectors";
  EXPECT_EQ(share_of(column_sum_graph(1000, 1024)).blocks, 8);
  EXPECT_EQ(share_of(column_sum_graph(1000, 24)).results, 16);
  EXPECT_EQ(share_of(column_sum_graph(64, 1 << 20)).kind, Kind::None) << "threads enough";
  EXPECT_EQ(share_of(column_sum_graph(0, 1024)).kind, Kind::None);
  EXPECT_EQ(share_of(column_sum_graph(1000, 0)).kind, Kind::None);
}

TEST(BlockLoops, AProductOfManyResultsIsNone) {
  EXPECT_EQ(share_of(matmul_graph(65536, 1024, 64)).kind, Kind::None);
  EXPECT_EQ(share_of(parse_graph("def f(float(65536, 1024) a, float(1024, 64) b) -> (c) { c(i, j) "
                                 "+=! a(i, r) * b(r, j) }"))
                .kind,
            Kind::None)
      << "though most of its elements lie along the reduction";
}

TEST(BlockLoops, BlocksOfIdleThreadsAreNone) {
  EXPECT_EQ(
      share_of(parse_graph("def f(float(1000000, 3, 32) x) -> (s) { s(i, j) +=! x(i, j, r) }"))
          .kind,
      Kind::None);
}

TEST(BlockLoops, WhatThreadsCannotShareIsNone) {
  const auto share_of_winners = [](const std::string& place) {
    return share_of(
               parse_graph("def f(float(64, 4096) x) -> (v, k) { (v, k)(i) argmax=! (x(i, r), " +
                           place + ") }"))
        .kind;
  };
  EXPECT_EQ(share_of_winners("int32(r)"), Kind::Rows);
  EXPECT_EQ(share_of_winners("4095 - r"), Kind::None) << "it does not tell which one is the first";
}

std::string scheduled(const Graph& graph) {
  Program p = initial_program(graph, kGpu);
  const size_t root = p.graph.stages.size() - 1;
  p = block_loops(std::move(p), root, kGpu);
  expect_faithful(p, graph);
  return loops_text(p, root);
}

TEST(BlockLoops, ABlockTakesRowsOrColumns) {
  EXPECT_EQ(scheduled(row_sums(300, 1024)), "parallel:i:300 thread:r_j:256 vector:r_j:4");
  EXPECT_EQ(scheduled(row_sums(300, 8192)),
            "parallel:i:300 serial:r_j:4 thread:r_j:512 vector:r_j:4");
  EXPECT_EQ(scheduled(row_sums(1056, 128)), "parallel:i:132 thread:i:8 thread:r_j:32 vector:r_j:4");
  EXPECT_EQ(scheduled(column_sum_graph(200, 256)),
            "parallel:i:2 serial:r_j:13 thread:r_j:16 thread:i:32 vector:i:4");
}

TEST(BlockLoops, ATotalIsOneBlocks) {
  EXPECT_EQ(scheduled(total_graph(8, 256)), "thread:r_i:8 thread:r_j:64 vector:r_j:4");
}

}  // namespace
}  // namespace adjit::sched
