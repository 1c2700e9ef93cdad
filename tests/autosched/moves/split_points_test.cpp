// tests/autosched/moves/split_points_test.cpp -- points of a short axis as stages of their own.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Taps of a filter of `taps`, by residues modulo 2.
Graph taps_graph(int64_t taps) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  return parse_graph("def f(float(2, 8) x, float(" + number(taps) + ") w) -> (y) {\n" +
                     "  y(p, q) +=! x(p, q - r) * w(2 * r + p) where p in 0:2, q in 0:8, r in 0:" +
                     number((taps + 1) / 2) + ", 2 * r + p <= " + number(taps - 1) + ", q >= r\n}");
}

std::vector<std::vector<int64_t>> extents_of(const Program& program) {
  std::vector<std::vector<int64_t>> all;
  for (const Stage& stage : program.graph.stages) all.push_back(stage.domain.extents);
  return all;
}
using Extents = std::vector<std::vector<int64_t>>;

TEST(SplitPoints, EachHasItsTerms) {
  const Graph three = taps_graph(3);
  const Program p = split_points(plain(three), 0, 0);
  EXPECT_EQ(extents_of(p), (Extents{{8, 2}, {8, 1}, {2, 8}}));
  expect_faithful(p, three);
  const Graph four = taps_graph(4);
  EXPECT_EQ(extents_of(split_points(plain(four), 0, 0)), (Extents{{8, 2}, {8, 2}, {2, 8}}));
  expect_faithful(split_points(plain(four), 0, 0), four);
}

TEST(SplitPoints, SomeHaveNone) {
  const Graph one = taps_graph(1);
  const Program p = split_points(plain(one), 0, 0);
  EXPECT_EQ(extents_of(p), (Extents{{8, 1}, {2, 8}}));
  expect_faithful(p, one);
}

// From the first term on.
TEST(SplitPoints, TermsMayBeginLater) {
  const Graph graph = parse_graph(
      "def f(float(12) x) -> (y) {\n"
      "  y(i, p) +=! x(i + r) where i in 0:6, p in 0:3, r in 0:6, r >= 2 * p, r <= 2 * p + 1\n}");
  const Program p = split_points(plain(graph), 0, 1);
  EXPECT_EQ(extents_of(p), (Extents{{6, 2}, {6, 2}, {6, 2}, {6, 3}}));
  expect_faithful(p, graph);
}

TEST(SplitPoints, OnlySumsOverFewPoints) {
  const Graph long_axis = product_graph(5, 6, 7, false, false);
  expect_refused([&] { split_points(plain(long_axis), 0, 0); }, "1 to 4 points");
  expect_refused([&] { split_points(plain(long_axis), 0, 2); }, "one of several output axes");
  const Graph largest = parse_graph("def f(float(3, 4, 5) x) -> (y) { y(i, j) max=! x(i, j, r) }");
  expect_refused([&] { split_points(plain(largest), 0, 0); }, "only sums");
  const Graph one = parse_graph("def f(float(3, 5) x) -> (y) { y(i) +=! x(i, r) }");
  expect_refused([&] { split_points(plain(one), 0, 0); }, "one of several output axes");
}

}  // namespace
}  // namespace adjit::sched
