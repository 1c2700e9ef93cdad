// tests/autosched/analysis/exact_counts_test.cpp -- exact counts of what stages do.
#include "autosched/analysis/exact_counts.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Points and operations of the last stage of a definition.
std::optional<std::pair<int64_t, int64_t>> counted(const std::string& text) {
  const Graph graph = parse_graph(text);
  const std::optional<StageTotals> found = totals(graph, graph.stages.back());
  if (!found) return std::nullopt;
  return std::pair(found->points, found->flops);
}
using Counts = std::pair<int64_t, int64_t>;

TEST(ExactCounts, OfAProductAreAMultiplyAndAnAddAPoint) {
  EXPECT_EQ(counted("def f(float(4, 6) a, float(6, 5) b) -> (c) { c(i, j) +=! a(i, r) * b(r, j) }"),
            Counts(120, 240));
}

TEST(ExactCounts, OfRowsAreThePointsInside) {
  EXPECT_EQ(counted("def f(float(9) x) -> (y) { y(i) +=! x(r) where i in 0:9, r in 0:9, r <= i }"),
            Counts(45, 45));
}

TEST(ExactCounts, SelectsCastsAndIndicesAreNoOperations) {
  EXPECT_EQ(counted("def f(float(9) x, int64(9) n) -> (y) { y(i) = n(i) < 3 ? x((i + 1) % 9) : "
                    "float(n(i)) }"),
            Counts(9, 0));
  EXPECT_EQ(counted("def f(int64(9) n) -> (y) { y() +=! n(i) * n(i) }"), Counts(9, 0))
      << "integers";
  EXPECT_EQ(counted("def f(float(9) x) -> (y) { y(i) = fma(x(i), x(i), x(i)) }"), Counts(9, 18));
}

TEST(ExactCounts, SharedExpressionsCountOnce) {
  EXPECT_EQ(counted("def f(float(9) x) -> (y) { y(i) = let e = exp(x(i)); e * e }"), Counts(9, 18));
}

TEST(ExactCounts, OfAScanAreThoseOfItsSteps) {
  const std::string scan =
      "def f(float(3) h0, float(10, 3) X) -> (h) {\n"
      " scan (h) = step[10](carry float(3) c = h0, over float(3) x = X) -> (n) {\n"
      "  t(i) = exp(c(i))\n  n(i) = t(i) * x(i) + c(i)\n }\n}";
  EXPECT_EQ(counted(scan), Counts(60, 10 * (3 * 1 + 3 * 2)));
}

TEST(ExactCounts, WhatOnlyDataTellsHasNone) {
  EXPECT_EQ(counted("def f(float(3) x) -> (s) { call (float(3) s) = sort(x) }"), std::nullopt);
  EXPECT_EQ(
      counted("def f(float(3) a, bool g) -> (b) { scan (b, h) = step[while](carry float(3) c = "
              "a, carry bool o = g) -> (n, m) { n(i) = c(i) * 0.5 m() = c(0) > 1.0 } }"),
      std::nullopt);
}

TEST(ExactCounts, OfSegmentsAreThePlacesThatRowsShare) {
  EXPECT_EQ(counted("def f(float(9, 4) x, int64(6) first) -> (h) {\n  scatter float(5, 4) "
                    "h(select(first(i) <= q && q < first(i + 1), i, -1), j) +=[drop] x(q, j) "
                    "where i in 0:5, j in 0:4, q in 0:9\n}"),
            Counts(36, 36));
}

TEST(ExactCounts, EmptyDomainsHaveNoPoints) {
  EXPECT_EQ(counted("def f(float(0, 4) x) -> (y) { y(i) +=! x(i, r) }"), Counts(0, 0));
}

TEST(ExactCounts, BytesAreThoseOfTheElements) {
  Graph graph;
  EXPECT_EQ(tensor_bytes(graph, add_input(graph, "x", DType::Float16, {3, 5})), 30);
  EXPECT_EQ(tensor_bytes(graph, add_input(graph, "y", DType::Int64, {})), 8);
}

}  // namespace
}  // namespace adjit::sched
