// tests/runtime/diff/simplify/masked_sums_test.cpp -- conditions that leave sums.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

size_t stages_after(const std::string& body) {
  const Graph graph =
      parse_graph("def f(double(5, 4) a, double(5) x, int64(5) p) -> (y) {\n" + body + "\n}\n");
  const Graph moved = masks_behind_sums(graph);
  EXPECT_NO_THROW(verify(moved)) << print(moved);
  const std::vector<Array> inputs = testing::random_inputs(graph, 3, -1, 3);
  const Array before = interpret(graph, inputs)[0], after = interpret(moved, inputs)[0];
  for (int64_t k = 0; k < before.element_count(); ++k)
    EXPECT_NEAR(before.at(k), after.at(k), 1e-13);
  return moved.stages.size();
}

TEST(MasksBehindSums, AConditionOfTheResultIsAskedBehindTheSum) {
  EXPECT_EQ(stages_after("  y(i) +=! select(0.0 < x(i), a(i, k) * x(i), 0.0)"), 2u);
}

TEST(MasksBehindSums, AConditionOfATermStays) {
  EXPECT_EQ(stages_after("  y(i) +=! select(0.0 < a(i, k), a(i, k) * x(i), 0.0)"), 1u);
}

TEST(MasksBehindSums, AConditionThatKeepsReadsInBoundsStays) {
  EXPECT_EQ(stages_after("  y(i) +=! select(p(i) < 5 && 0 <= p(i), a(p(i), k), 0.0)\n"
                         "    where i in 0:5, k in 0:4"),
            1u);
}

TEST(MasksBehindSums, AConditionThatReadsInBoundsOnlyWhereRowsHoldStays) {
  EXPECT_EQ(stages_after("  y(i) +=! select(0.0 < x(i - 1), a(i, k), 0.0)\n"
                         "    where i in 0:5, k in 0:4, 1 <= i"),
            1u);
}

TEST(MasksBehindSums, ASelectAgainstAnotherNumberStays) {
  EXPECT_EQ(stages_after("  y(i) +=! select(0.0 < x(i), a(i, k) * x(i), 1.0)"), 1u);
}

// The condition hides a quotient by 0, whose slope is not finite, from the second derivative, too.
TEST(MasksBehindSums, WhatIsDerivedAgainKeepsConditionsInSums) {
  const Graph graph = parse_graph(
      "def f(double(3) x, double(3, 4) a) -> (y) {\n"
      "  y(i) +=! select(x(i) != 0.0, a(i, k) * a(i, k) / x(i), 0.0)\n}\n");
  const Graph first = vjp(graph, {.wrt = {0, 1}, .outputs = {0}});
  const Graph second = vjp(first, {.wrt = {0, 1, 2}, .outputs = {0, 1}});
  std::vector<Array> inputs = testing::random_inputs(second, 5, 1, 2);
  inputs[0].set(1, 0);
  for (const Array& result : interpret(simplify_last(second), inputs))
    for (int64_t k = 0; k < result.element_count(); ++k) EXPECT_TRUE(std::isfinite(result.at(k)));
  EXPECT_GT(simplify_last(first).stages.size(), first.stages.size());
}

}  // namespace
}  // namespace adjit::diff
