// tests/autosched/gpu/split_reductions_test.cpp -- which reductions several threads share.
#include "autosched/gpu/split_reductions.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr GpuMachine kMiddle{.multiprocessors = 2, .threads = 256};

std::string split(const Graph& graph, const GpuMachine& machine) {
  const Program p = split_long_reductions(initial_program(graph, machine), machine);
  expect_faithful(p, graph);
  std::string sizes;
  for (const Stage& stage : p.graph.stages) {
    sizes += sizes.empty() ? "" : "; ";
    for (int64_t extent : stage.domain.extents) sizes += std::to_string(extent) + " ";
  }
  return sizes;
}

TEST(SplitReductions, ATotalIsATreeOfParts) {
  EXPECT_EQ(split(total_graph(64, 100), kMiddle), "100 64 1 ; 100 ") << "a column a thread";
}

TEST(SplitReductions, ALongAxisIsCutIntoRanges) {
  const Graph graph = parse_graph("def f(float(8192) x) -> (y) { y() +=! x(r) }");
  EXPECT_EQ(split(graph, kMiddle), "256 32 ; 256 ");
}

TEST(SplitReductions, WhatCombinesManyPartsIsSplitAgain) {
  const Graph graph = parse_graph("def f(float(65536) x) -> (y) { y() max=! x(r) }");
  EXPECT_EQ(split(graph, {.multiprocessors = 4, .threads = 512}), "1024 64 ; 32 32 ; 32 ");
}

TEST(SplitReductions, ColumnsShareTheirRows) {
  EXPECT_EQ(split(column_sum_graph(1000, 8), kMiddle), "31 8 33 ; 8 31 ");
}

TEST(SplitReductions, ResultsThatKeepTheGpuBusyAreLeft) {
  EXPECT_EQ(split(column_sum_graph(1000, 256), kMiddle), "256 1000 ");
}

TEST(SplitReductions, ShortOnesAreLeft) {
  EXPECT_EQ(split(total_graph(10, 50), kMiddle), "10 50 ");
}

TEST(SplitReductions, CombinersWithoutPartialResultsAreLeft) {
  const Graph graph =
      parse_graph("def f(float(4096) x) -> (v, k) { (v, k)() argmax=! (x(r), int32(r)) }");
  EXPECT_EQ(split(graph, kMiddle), "4096 ");
  const Graph half = parse_graph("def f(bfloat16(4096) x) -> (y) { y() +=! x(r) }");
  EXPECT_EQ(split(half, kMiddle), "4096 ") << "parts would be rounded";
}

}  // namespace
}  // namespace adjit::sched
