// tests/runtime/diff/rules/prefix_winner_test.cpp -- derivatives of running maxima and minima.
#include "runtime/diff/rules/prefix_winner.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

Graph program(const std::string& statement, const std::string& row) {
  return parse_graph("def f(double(2, 9, 3) x) -> (y) { " + statement +
                     " where b in 0:2, i in 0:9, c in 0:3, r in 0:9, " + row + " }");
}

const char* const kRows[] = {"r <= i", "r < i", "r >= i", "r > i"};
const char* const kStatements[] = {
    "y(b, i, c) max=![first] x(b, r, c)", "y(b, i, c) min=![first] sin(3 * x(b, r, c))",
    "(y, at)(b, i, c) argmax=! (x(b, r, c), r)", "(y, at)(b, i, c) argmin=! (x(b, r, c), 2 * r)"};

// What nothing reaches (the first element of an exclusive one is infinite) is left out.
std::string finite(const std::string& row) {
  return row == "r < i" ? "i >= 1" : row == "r > i" ? "i <= 7" : "i >= 0";
}

TEST(PrefixWinner, AgreesWithDifferences) {
  for (const char* statement : kStatements)
    for (const char* row : kRows) {
      SCOPED_TRACE(std::string(statement) + " " + row);
      const Graph f =
          parse_graph("def f(double(2, 9, 3) x) -> (z) { " + std::string(statement) +
                      " where b in 0:2, i in 0:9, c in 0:3, r in 0:9, " + row +
                      "\n  z(b, i, c) = " + finite(row) + " ? y(b, i, c) * y(b, i, c) : 0.0 }");
      EXPECT_TRUE(check_gradients(f));
    }
}

// The gradient has a point for each element, not one for each pair; so has the tangent.
TEST(PrefixWinner, IsLinear) {
  for (const char* statement : kStatements)
    for (const char* row : kRows) {
      const Graph f = program(statement, row);
      for (const Graph& derived : {vjp(f, {{0}, {0}}), jvp(f, {{0}})})
        for (const Stage& stage : derived.stages)
          EXPECT_TRUE(prefix_reduction(derived.pool, stage) ||
                      *count_points(stage.domain) <= 2 * 9 * 3)
              << print(derived);
    }
}

// Of equal elements the first one gets the cotangent of all, forwards and backwards alike.
TEST(PrefixWinner, TheFirstOfEqualsHolds) {
  const std::vector<double> values{1, 3, 3, 2, 3, 5, 5, 5, 1};
  for (const auto& [row, expected] :
       {std::pair("r <= i", std::vector<double>{1, 4, 0, 0, 0, 4, 0, 0, 0}),
        std::pair("r >= i", std::vector<double>{0, 0, 0, 0, 0, 6, 1, 1, 1})}) {
    const Graph f = parse_graph(std::string("def f(double(9) x) -> (y) { y(i) max=![first] x(r) "
                                            "where i in 0:9, r in 0:9, ") +
                                row + " }");
    const std::vector<double> ones(9, 1.0);
    const Array x = Array::of(DType::Float64, {9}, values),
                one = Array::of(DType::Float64, {9}, ones);
    const Array gradient = interpret(vjp(f, {{0}, {0}}), std::vector{x, one})[0];
    double total = 0;
    for (int64_t k = 0; k < 9; ++k) {
      EXPECT_EQ(gradient.at(k), expected[static_cast<size_t>(k)]) << row << " " << k;
      std::vector<double> direction(9, 0.0);
      direction[static_cast<size_t>(k)] = 1;
      const Array moved =
          interpret(jvp(f, {{0}}), std::vector{x, Array::of(DType::Float64, {9}, direction)})[0];
      double sum = 0;
      for (int64_t i = 0; i < 9; ++i) sum += moved.at(i);
      EXPECT_EQ(sum, gradient.at(k)) << row << " " << k;
      total += sum;
    }
    EXPECT_EQ(total, 9);
  }
}

}  // namespace
}  // namespace adjit::testing
