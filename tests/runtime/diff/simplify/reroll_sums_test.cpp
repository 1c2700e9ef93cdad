// tests/runtime/diff/simplify/reroll_sums_test.cpp -- terms that a loop wrote out become a sum.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

using testing::check_gradients;

// The reduction axes' extents of the stages that are left, after the pass, which changes no value
// but for rounding, and no gradient.
void expect_sums(const std::string& text, const std::vector<std::vector<int64_t>>& reduced) {
  const Graph graph = parse_graph(text);
  const Graph rolled = compact(reroll_sums(graph));
  std::vector<std::vector<int64_t>> found;
  for (const Stage& stage : rolled.stages)
    found.emplace_back(
        stage.domain.extents.begin() + static_cast<ptrdiff_t>(stage.domain.output_rank),
        stage.domain.extents.end());
  EXPECT_EQ(found, reduced) << print(rolled);
  const std::vector<Array> inputs = testing::random_inputs(graph, 3);
  EXPECT_TRUE(testing::same_values(graph, rolled, inputs));
  EXPECT_TRUE(check_gradients(graph, inputs, 2));
}

std::string program(const std::string& statements) {
  return "def f(double(9, 8) x, double(3, 4) w, double(3) v) -> (y) {\n" + statements + "\n}";
}

TEST(RerollSums, WeightsOfAStencilAreSummedOver) {
  expect_sums(program("y(i, j) = 0.0 + v(0) * x(i, j) + v(1) * x(i + 1, j) + v(2) * x(i + 2, j)"
                      " where i in 0:7"),
              {{3}});
  std::string terms;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 4; ++q)
      terms += (terms.empty() ? "w(" : " + w(") + std::to_string(p) + ", " + std::to_string(q) +
               ") * x(i + " + std::to_string(p) + ", j + " + std::to_string(q) + ")";
  expect_sums(program("y(i, j) = " + terms + " where i in 0:7, j in 0:5"), {{3, 4}});
}

TEST(RerollSums, NegativeTermsAreASumOfTheirOwn) {
  expect_sums(program("y(i) = -(v(0) * x(0, i)) - v(1) * x(1, i) - v(2) * x(2, i)"), {{3}});
  expect_sums(program("y(i) = v(0) * x(0, i) + v(1) * x(1, i) + v(2) * x(2, i) - v(0) * x(3, i)"
                      " - v(1) * x(4, i) - v(2) * x(5, i)"),
              {{3}, {3}, {}});
}

TEST(RerollSums, StagesThatOnlyTheSumReadsAreTaken) {
  expect_sums(program(R"(
  a(i, j) = v(0) * x(i, j) where i in 0:7
  b(i, j) = v(1) * x(i + 1, j) where i in 0:7
  c(i, j) = a(i, j) + b(i, j)
  d(i, j) = v(2) * x(i + 2, j) where i in 0:7
  y(i, j) = c(i, j) + d(i, j))"),
              {{3}});
}

TEST(RerollSums, ContractionsAreOneContraction) {
  expect_sums(program(R"(
  a(i, k) +=! x(i, j) * w(0, j) * v(k) where i in 0:7, j in 0:4
  b(i, k) +=! x(i + 1, j) * w(1, j) * v(k) where i in 0:7, j in 0:4
  c(i, k) +=! x(i + 2, j) * w(2, j) * v(k) where i in 0:7, j in 0:4
  y(i, k) = a(i, k) + b(i, k) + c(i, k))"),
              {{4, 3}});
}

TEST(RerollSums, AnAxisOfOnePointIsTheSameByAnyName) {
  expect_sums(program(R"(
  a(b, i) = v(0) * x(0, i) where b in 0:1
  c(b, i) = a(0, i) + v(1) * x(1, i) where b in 0:1
  y(b, i) = c(0, i) + v(2) * x(2, i) where b in 0:1)"),
              {{3}});
}

TEST(RerollSums, ASumKeepsItsOwnAxes) {
  expect_sums(program("y(i) +=! w(0, j) * x(i, j) + w(1, j) * x(i, j + 1) + w(2, j) * x(i, j + 2)"
                      " where j in 0:4"),
              {{4, 3}});
}

TEST(RerollSums, OtherTermsStayBesideTheSum) {
  expect_sums(program("y(i) = sin(x(8, i)) + v(0) * x(0, i) + v(1) * x(1, i) + v(2) * x(2, i)"),
              {{3}, {}});
}

TEST(RerollSums, WhatOthersReadIsLeftAlone) {
  expect_sums(
      "def f(double(9, 8) x, double(3) v) -> (a, y) {\n"
      "  a(i) = v(0) * x(0, i)\n  y(i) = a(i) + v(1) * x(1, i) + v(2) * x(2, i)\n}",
      {{}, {}});
}

TEST(RerollSums, NeighboursWithoutWeightsStayTerms) {
  // One moving read, numbers as weights, two terms, a hole in the window, a place twice.
  for (const char* terms :
       {"v(0) * x(0, i) + v(0) * x(1, i) + v(0) * x(2, i)",
        "0.25 * x(0, i) + 0.5 * x(1, i) + 0.25 * x(2, i)", "v(0) * x(0, i) + v(1) * x(1, i)",
        "w(0, 0) * x(0, i) + w(0, 1) * x(1, i) + w(1, 0) * x(2, i)",
        "v(0) * x(0, i) + v(0) * x(0, i) + v(1) * x(1, i)"})
    expect_sums(program(std::string("y(i) = ") + terms), {{}});
}

}  // namespace
}  // namespace adjit::diff
