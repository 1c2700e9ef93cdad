// tests/runtime/diff/simplify/awaited_sums_test.cpp -- which factors wait for other sums.
#include "runtime/diff/simplify/awaited_sums.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Whether a factor that is read from the result of stage `factor` waits where stage `sum` reads
// the result of stage `other`, too; SIZE_MAX: the graph's input x.
bool waits(const Graph& graph, size_t sum, size_t factor, size_t other = SIZE_MAX) {
  diff::StageOf stage_of;
  for (size_t s = 0; s < graph.stages.size(); ++s)
    for (TensorId id : graph.stages[s].results) stage_of[id.value] = s;
  const TensorId read =
      other == SIZE_MAX ? graph.inputs.front() : graph.stages[other].results.front();
  return diff::any_waits_for_reduction_of(graph, stage_of,
                                          std::span(&graph.stages[factor].results.front(), 1),
                                          std::span(&read, 1), graph.stages[sum].domain);
}

TEST(AwaitedSums, AreOfTheSameOperandAndAsManyPoints) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x, double(8, 5) y) -> (a, b, c, s) {
    a(j) +=! x(r, j)
    b(j) +=! y(r, j)
    c(j) +=! x(0, r) where j in 0:5, r in 0:5
    s(j) +=! a(j) * b(j) * c(j) * x(r, j)
  })");
  EXPECT_TRUE(waits(g, 3, 0));
  EXPECT_FALSE(waits(g, 3, 1)) << "of y";
  EXPECT_FALSE(waits(g, 3, 2)) << "of a row";
}

TEST(AwaitedSums, LieAnywhereBeforeTheFactorButNotBeforeTheOthers) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x) -> (s, t) {
    a(j) +=! x(r, j)
    b(j) = exp(a(j)) + 1.0
    d(i, j) = x(i, j) - a(j)
    s(j) +=! b(j) * x(r, j)
    t(j) +=! b(j) * d(r, j)
  })");
  EXPECT_TRUE(waits(g, 3, 1));
  EXPECT_FALSE(waits(g, 4, 1, 2)) << "d waits for a, too";
}

}  // namespace
}  // namespace adjit::testing
