// tests/runtime/diff/simplify/window_sums_test.cpp -- terms that read a window as one sum over it.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

using testing::check_gradients;

// Weights f, g and places y, x of a cell, and a table of doubles.
constexpr const char* kCell =
    "def f(double(9, 8) t, double(6) f, double(6) g, int64(6) y, int64(6) x) -> (o) {\n";

std::vector<Array> inputs_of(const Graph& graph) {
  std::vector<Array> inputs = testing::random_inputs(graph, 7);
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].dtype == DType::Int64)
      for (int64_t i = 0; i < inputs[k].element_count(); ++i)
        inputs[k].set(i, static_cast<double>((5 * i + static_cast<int64_t>(k)) % 6));
  return inputs;
}

void expect_equal(const Graph& a, const Graph& b) {
  const std::vector<Array> inputs = inputs_of(a);
  const std::vector<Array> x = interpret(a, inputs), y = interpret(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t i = 0; i < x[k].element_count(); ++i)
      EXPECT_NEAR(x[k].at(i), y[k].at(i), 1e-12) << k << " at " << i;
}

// The pass makes stages of these numbers of reduction axes, and changes no value nor gradient.
void expect_windows(const std::string& body, const std::vector<size_t>& reduction_ranks) {
  const Graph graph = parse_graph(kCell + body + "\n}\n");
  const Graph whole = window_sums(graph);
  std::vector<size_t> ranks;
  for (const Stage& stage : whole.stages) ranks.push_back(stage.domain.reduction_rank());
  EXPECT_EQ(ranks, reduction_ranks) << print(whole);
  EXPECT_NO_THROW(verify(whole)) << print(whole);
  expect_equal(graph, whole);
  EXPECT_TRUE(check_gradients(graph, inputs_of(graph), 2));
}

TEST(WindowSums, NestedInterpolationIsASumOverTheCell) {
  expect_windows(
      "  o(i) = (1 - f(i)) * ((1 - g(i)) * t(y(i), x(i)) + g(i) * t(y(i), x(i) + 1))\n"
      "    + f(i) * ((1 - g(i)) * t(y(i) + 1, x(i)) + g(i) * t(y(i) + 1, x(i) + 1))",
      {2});
}

TEST(WindowSums, TermsInAnyOrderWithSignsAndAStartOfZero) {
  expect_windows(
      "  o(i) = 0.0 + f(i) * t(y(i) + 1, x(i)) - g(i) * t(y(i), x(i)) + t(y(i) + 2, x(i))", {1});
}

TEST(WindowSums, ClippedPlacesAreAWindow) {
  expect_windows(
      "  o(i) = f(i) * t(max(0, min(y(i) - 1, 8)), x(i)) + g(i) * t(max(0, min(y(i), 8)), x(i))",
      {1});
}

TEST(WindowSums, ASumKeepsItsOwnAxes) {
  expect_windows("  o(i) +=! g(j) * (f(i) * t(y(j), x(i)) + t(y(j) + 1, x(i))) where j in 0:6",
                 {2});
}

// Composed operators: each product and each sum a stage of its own, places and weights, too.
TEST(WindowSums, TermsInStagesOfTheirOwnAreAWindow) {
  expect_windows(
      "  p(i) = min(max(y(i), 0), 5)\n  q(i) = p(i) + 1\n  u(i) = 1.0 - f(i)\n"
      "  a(i) = t(p(i), x(i))\n  b(i) = t(q(i), x(i))\n"
      "  m(i) = u(i) * a(i)\n  n(i) = f(i) * b(i)\n  o(i) = m(i) + n(i)",
      {1});
}

TEST(WindowSums, AnInterpolationByItsDifferenceIsAWindow) {
  expect_windows("  o(i) = t(y(i), x(i)) + f(i) * (t(y(i) + 1, x(i)) - t(y(i), x(i)))", {1});
  expect_windows(
      "  a(i) = t(y(i), x(i)) + f(i) * (t(y(i) + 1, x(i)) - t(y(i), x(i)))\n"
      "  b(i) = t(y(i), x(i) + 1) + f(i) * (t(y(i) + 1, x(i) + 1) - t(y(i), x(i) + 1))\n"
      "  c(i) = b(i) - a(i)\n  o(i) = a(i) + g(i) * c(i)",
      {2});
}

// Places in the flattened table, indices below zero counted from the end.
TEST(WindowSums, FlattenedPlacesAreAWindowOfTheTable) {
  expect_windows(
      "  h(k) = t(k // 8, k % 8) where k in 0:72\n"
      "  p(i) = min(max(y(i), 0), 7) * 8 + min(max(x(i), 0), 6)\n"
      "  r(i) = select(p(i) < 0, p(i) + 72, p(i))\n  a(i) = h(r(i))\n"
      "  q(i) = p(i) + 9\n  s(i) = select(q(i) < 0, q(i) + 72, q(i))\n  b(i) = h(s(i))\n"
      "  q1(i) = p(i) + 1\n  c(i) = h(q1(i))\n  q2(i) = p(i) + 8\n  d(i) = h(q2(i))\n"
      "  o(i) = f(i) * a(i) + g(i) * b(i) + c(i) + d(i)",
      {2});
}

TEST(WindowSums, TermsBesideAWindowStay) {
  expect_windows("  o(i) = sin(g(i)) + f(i) * t(y(i), x(i)) + g(i) * t(y(i) + 1, x(i))", {1, 0});
}

// A window reads all of its places, out of range or not: a weight of nothing would hide one.
TEST(WindowSums, PlacesThatNothingWeighsStayTerms) {
  expect_windows("  o(i) = f(i) * t(y(i), x(i)) + 0.0 * t(y(i) + 1, x(i))", {0});
  expect_windows("  o(i) = t(y(i), x(i)) + (t(y(i) + 1, x(i)) - t(y(i) + 1, x(i)))", {0});
}

TEST(WindowSums, WhatIsNoWholeWindowStays) {
  // A place twice, three corners of four, two tables' places, affine places.
  expect_windows("  o(i) = f(i) * t(y(i), x(i)) + g(i) * t(y(i), x(i))", {0});
  expect_windows("  o(i) = t(y(i), x(i)) + f(i) * t(y(i) + 1, x(i)) + t(y(i), x(i) + 1)", {0});
  expect_windows("  o(i) = f(i) * t(y(i), x(i)) + g(i) * t(x(i), y(i))", {0});
  expect_windows("  o(i) = f(i) * t(i, 0) + g(i) * t(i + 1, 0)", {0});
  expect_windows("  o(i) = t(y(i), x(i)) * t(y(i) + 1, x(i))", {0});
}

// One scatter of the window, not one of each corner.
TEST(WindowSums, TheDerivativeScattersAWindowOnce) {
  const Graph graph = parse_graph(
      std::string(kCell) + "  o(i) = (1 - f(i)) * t(y(i), x(i)) + f(i) * t(y(i) + 1, x(i))\n}\n");
  const Graph adjoint = testing::adjoint(graph);
  size_t scatters = 0;
  for (const Stage& stage : adjoint.stages) scatters += stage.kind == StageKind::Scatter;
  EXPECT_EQ(scatters, 1u) << print(adjoint);
}

}  // namespace
}  // namespace adjit::diff
