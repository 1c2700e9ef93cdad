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

TEST(SplitReductions, ATotalIsATreeOfPartsOfTheLongerAxisOutside) {
  EXPECT_EQ(split(total_graph(512, 100), kMiddle), "4 128 100 ; 4 ") << "two blocks each";
  EXPECT_EQ(split(total_graph(2, 25600), kMiddle), "4 2 6400 ; 4 ");
}

TEST(SplitReductions, PartsAreAsLongAsEachOther) {
  const Graph graph = parse_graph("def f(float(24576) x) -> (y) { y() +=! x(r) }");
  EXPECT_EQ(split(graph, kMiddle), "4 6144 ; 4 ");
  EXPECT_EQ(split(graph, {.multiprocessors = 132}), "6 4096 ; 6 ") << "a block has 4096 terms";
  const Graph prime = parse_graph("def f(float(24593) x) -> (y) { y() max=! x(r) }");
  EXPECT_EQ(split(prime, kMiddle), "4 6149 ; 4 ") << "none is: the last one is shorter";
}

TEST(SplitReductions, WhatCombinesManyPartsIsABlocks) {
  const Graph graph = parse_graph("def f(float(262144) x) -> (y) { y() max=! x(r) }");
  EXPECT_EQ(split(graph, {.multiprocessors = 16}), "32 8192 ; 32 ");
}

TEST(SplitReductions, ColumnsShareTheirRows) {
  EXPECT_EQ(split(column_sum_graph(1000, 8), kMiddle), "4 8 250 ; 8 4 ");
}

TEST(SplitReductions, ResultsThatKeepTheGpuBusyAreLeft) {
  EXPECT_EQ(split(column_sum_graph(1000, 1024), kMiddle), "1024 1000 ");
}

// Threads far from each other in memory take parts that each adds up alone.
TEST(SplitReductions, TermsThatLieApartAreThreads) {
  const Graph graph =
      parse_graph("def f(float(8192, 2) x) -> (y) { y() +=! x(r, 0) where r in 0:8192 }");
  EXPECT_EQ(split(graph, kMiddle), "256 32 ; 256 ");
}

TEST(SplitReductions, WinnersOfPartsAreOnesOfParts) {
  const Graph graph =
      parse_graph("def f(float(24576) x) -> (v, k) { (v, k)() argmax=! (x(r), int32(r)) }");
  EXPECT_EQ(split(graph, kMiddle), "4 6144 ; 4 ; ");
}

// Those that no tile of a product serves: a thread computes several results of a part, 16 here
// since each operand is read 16 times.
TEST(SplitReductions, ContractionsArePartsOfTiles) {
  const auto shortest_path = [](int64_t terms) {
    const std::string k = std::to_string(terms);
    return parse_graph("def f(double(16, " + k + ") x, double(" + k +
                       ", 16) w) -> (y) { y(i, j) min=! x(i, r) + w(r, j) }");
  };
  EXPECT_EQ(split(shortest_path(8192), {.multiprocessors = 4}), "2 16 16 4096 ; 16 16 2 ");
  EXPECT_EQ(split(shortest_path(8209), {.multiprocessors = 4}), "2 16 16 4105 ; 16 16 2 ")
      << "a prime number";
  EXPECT_EQ(split(shortest_path(4099), {.multiprocessors = 4}), "16 16 4099 ") << "short";
  EXPECT_EQ(split(shortest_path(8192), kMiddle), "16 16 8192 ") << "results are tiles enough";
}

// Multiprocessors ask for four parts of either; tiles of three times three taps are faster in half
// as many.
TEST(SplitReductions, PartsOfTilesAreAsManyAsAreFastest) {
  const auto parts = [](const std::string& taps) {
    const Graph graph = parse_graph(
        "def f(float(64, 256, 56, 56) x, float(64, 256, 56, 56) g) -> (w) {\n"
        "  w(c, p, q) +=! g(n, c, i, j) * x(n, c, i + p - 1, j + q - 1) where p in 0:" +
        taps + ",\n    q in 0:" + taps + ", i + p >= 1, i + p <= 56, j + q >= 1, j + q <= 56\n}");
    const Program p = split_long_reductions(initial_program(graph, kGpu), kGpu);
    return p.graph.stages.front().domain.extents.front();
  };
  EXPECT_EQ(parts("3"), 2);
  EXPECT_EQ(parts("5"), 4);
}

TEST(SplitReductions, ShortOnesAreLeft) {
  EXPECT_EQ(split(total_graph(10, 50), kMiddle), "10 50 ");
}

TEST(SplitReductions, CombinersWithoutPartialResultsAreLeft) {
  const Graph graph =
      parse_graph("def f(float(4096) x) -> (v, k) { (v, k)() argmax=! (x(r), 4095 - r) }");
  EXPECT_EQ(split(graph, kMiddle), "4096 ");
  const Graph half = parse_graph("def f(bfloat16(4096) x) -> (y) { y() +=! x(r) }");
  EXPECT_EQ(split(half, kMiddle), "4096 ") << "parts would be rounded";
}

}  // namespace
}  // namespace adjit::sched
