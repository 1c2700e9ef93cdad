// tests/runtime/diff/simplify/invariant_shifts_test.cpp -- maxima that no output changes with.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

using testing::check_gradients;

// Whether the maximum m is held constant. Gradients are right either way.
void expect_held(const std::string& statements, bool held, const std::string& outputs = "y") {
  const Graph graph = parse_graph("def f(double(3, 5) x, double(3) c) -> (" + outputs + ") {\n" +
                                  "  m(i) max=! x(i, j) where j in 0:5\n" + statements + "\n}");
  const Graph stopped = stop_at_invariant_shifts(graph);
  EXPECT_EQ(stopped.stages[0].stop_gradient, held) << print(stopped);
  EXPECT_TRUE(check_gradients(graph, testing::random_inputs(graph, 4), 2));
}

constexpr const char* kPowers = "  e(i, j) = exp(x(i, j) - m(i))\n  s(i) +=! e(i, j)\n";

TEST(InvariantShifts, ASoftmaxDoesNotChangeWithItsMaximum) {
  expect_held(std::string(kPowers) + "  y(i, j) = e(i, j) / s(i)", true);
  expect_held(std::string(kPowers) + "  y(i, j) = x(i, j) - m(i) - log(s(i))", true);
  expect_held(std::string(kPowers) + "  y(i) = m(i) + log(s(i))", true);
}

TEST(InvariantShifts, DegreesOfProductsAddUp) {
  expect_held(std::string(kPowers) + "  t(i) +=! e(i, j) * e(i, j)\n  y(i) = t(i) / (s(i) * s(i))",
              true);
  expect_held(
      "  e(i, j) = exp((x(i, j) - m(i)) * 2.0)\n  s(i) +=! e(i, j)\n"
      "  y(i) = m(i) + log(s(i)) * 0.5",
      true);
  expect_held(std::string(kPowers) + "  t(i) +=! e(i, j) * e(i, j)\n  y(i) = t(i) / s(i)", false);
  expect_held(std::string(kPowers) + "  y(i) = m(i) + log(s(i)) * 0.5", false);
}

TEST(InvariantShifts, MaskedScoresAreLikeOthers) {
  expect_held(
      "  e(i, j) = select(j < i + 2, exp(x(i, j) - m(i)), 0.0)\n  s(i) +=! e(i, j)\n"
      "  y(i, j) = e(i, j) / s(i)",
      true);
  expect_held(
      "  e(i, j) = select(j < i + 2, exp(x(i, j) - m(i)), 1.0)\n  s(i) +=! e(i, j)\n"
      "  y(i, j) = e(i, j) / s(i)",
      false);
}

TEST(InvariantShifts, WhatFollowsTheMaximumIsDerived) {
  expect_held("  y(i, j) = x(i, j) - m(i)", false);
  expect_held("  y(i) = m(i) * c(i)", false);
  expect_held(std::string(kPowers) + "  y(i, j) = e(i, j) / s(i)", false, "y, m");
  expect_held(std::string(kPowers) + "  y(i, j) = e(i, j) / (s(i) + c(i))", false);
  // Each row by the next one's sum.
  expect_held(std::string(kPowers) + "  y(i, j) = e(i, j) / s((i + 1) % 3)", false);
  // Over all rows.
  expect_held(std::string(kPowers) + "  z() +=! s(i)\n  y(i) = s(i) / z()", false);
}

TEST(InvariantShifts, AnotherMaximumMayBeTheOneThatIsHeld) {
  const Graph graph = parse_graph(R"(
def f(double(3, 5) x) -> (y) {
  m(i) max=! x(i, j)
  e(i, j) = exp(x(i, j) - m(i))
  s(i) +=! e(i, j)
  p(i, j) = e(i, j) / s(i)
  y(i) max=! p(i, j)
})");
  const Graph stopped = stop_at_invariant_shifts(graph);
  EXPECT_TRUE(stopped.stages[0].stop_gradient);
  EXPECT_FALSE(stopped.stages[4].stop_gradient);
  EXPECT_TRUE(check_gradients(graph, testing::random_inputs(graph, 4), 2));
}

}  // namespace
}  // namespace adjit::diff
