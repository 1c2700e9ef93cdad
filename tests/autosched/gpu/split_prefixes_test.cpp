// tests/autosched/gpu/split_prefixes_test.cpp -- which prefix reductions several threads share.
#include "autosched/gpu/split_prefixes.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr GpuMachine kTwoSmall{.multiprocessors = 2, .threads = 256};

Graph prefix_of_rows(int64_t rows, int64_t length, const std::string& by = "+") {
  const std::string n = std::to_string(length), m = std::to_string(rows);
  return parse_graph("def f(float(" + m + ", " + n + ") x) -> (y) { y(i, j) " + by +
                     "=! x(i, r) where i in 0:" + m + ", j in 0:" + n + ", r in 0:" + n +
                     ", r <= j }");
}
Graph prefix_of_columns(int64_t length, int64_t width) {
  const std::string n = std::to_string(length), m = std::to_string(width);
  return parse_graph("def f(float(" + n + ", " + m + ") x) -> (y) { y(i, j) +=! x(r, j) " +
                     "where i in 0:" + n + ", j in 0:" + m + ", r in 0:" + n + ", r <= i }");
}

Program in_chunks(const Graph& graph, const GpuMachine& machine = kTwoSmall) {
  return split_long_prefixes(initial_program(graph, machine), machine);
}

// Where a reduction runs on: its extents, the axis along which it does in brackets.
std::string walks_of(const Program& p) {
  std::string text;
  for (const Stage& stage : p.graph.stages) {
    const Running* running = running_of(p.graph, stage);
    if (!running) continue;
    text += text.empty() ? "" : "; ";
    for (size_t a = 0; a < stage.domain.rank(); ++a) {
      const std::string extent = std::to_string(stage.domain.extents[a]);
      text += a == running->axis ? "[" + extent + "] " : extent + " ";
    }
  }
  return text;
}

TEST(SplitPrefixes, AThreadTakesALine) {
  const Program p = in_chunks(prefix_of_rows(2, 1024));
  EXPECT_EQ(walks_of(p), "2 [32] ; 2 32 [32] ");
  expect_faithful(p, prefix_of_rows(2, 1024));
}

TEST(SplitPrefixes, WhatComesBeforeTheChunksIsSplitLikewise) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(2, 1 << 20))),
            "2 [32] ; 2 32 [32] ; 2 1024 [32] ; 2 32768 [32] ");
}

TEST(SplitPrefixes, ChunksDivideTheAxisWhereTheyCan) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 1000))), "1 [40] ; 1 40 [25] ") << "not 31 of 33";
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 59 * 5))), "1 [5] ; 1 5 [59] ");
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 1009))), "1 [32] ; 1 32 [32] ")
      << "a prime number";
  expect_faithful(in_chunks(prefix_of_rows(3, 1009, "max")), prefix_of_rows(3, 1009, "max"));
}

// Neighbouring threads have neighbouring columns: chunks are as long as leaves threads enough.
TEST(SplitPrefixes, ColumnsHaveLongChunks) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_columns(2048, 32))), "[8] 32 ; 8 [256] 32 ");
  EXPECT_EQ(walks_of(in_chunks(prefix_of_columns(256, 2))), "[16] 2 ; 16 [16] 2 ")
      << "16 points at least";
}

TEST(SplitPrefixes, OthersAreLeft) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 128))), "1 [128] ") << "short";
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(256, 1024))), "256 [1024] ") << "threads enough";
  const Graph winners = parse_graph(
      "def f(float(1024) x) -> (v, k) { (v, k)(i) argmax=! (x(r), int32(r)) where i in 0:1024, "
      "r in 0:1024, r <= i }");
  EXPECT_EQ(walks_of(in_chunks(winners)), "[1024] ");
  EXPECT_EQ(walks_of(in_chunks(total_graph(64, 64))), "");
}

}  // namespace
}  // namespace adjit::sched
