// tests/fuzz/oracle/wide_interpreter_test.cpp -- values in higher precision, error bounds,
// decisions.
#include "tests/fuzz/oracle/wide_interpreter.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

WideArray reals(std::vector<double> values) {
  return WideArray::of(Array::of(DType::Float64, {static_cast<int64_t>(values.size())}, values));
}

WideArray first_result(const std::string& body, const std::vector<double>& x,
                       uint64_t* decisions = nullptr) {
  const std::string n = std::to_string(x.size());
  const Graph graph = parse_graph("def f(double(" + n + ") x) -> (y) { " + body + " }");
  WideInterpreter interpreter;
  const WideArray input = reals(x);
  WideArray result = interpreter.run(graph, std::span(&input, 1))[0];
  if (decisions) *decisions = interpreter.decisions().number();
  return result;
}

Wide function_at(Op op, double x) {
  Decisions decisions;
  const Wide value = Wide::of_float(x);
  return apply_wide(op, DType::Float64, DType::Float64, std::span(&value, 1), decisions);
}

// To 18 digits, by mpmath.
TEST(Wide, FunctionsAreWide) {
  EXPECT_NEAR(static_cast<double>(function_at(Op::Digamma, 0.3).f - -3.50252422220013312L), 0,
              1e-17);
  EXPECT_NEAR(static_cast<double>(function_at(Op::Erfinv, 0.75).f - 0.813419847597618542L), 0,
              1e-17);
  EXPECT_NEAR(static_cast<double>(function_at(Op::Erfinv, -0.125).f - -0.111235451840949959L), 0,
              1e-17);
  EXPECT_NEAR(static_cast<double>(function_at(Op::Lgamma, 2.5).f - 0.284682870472919160L), 0,
              1e-17);
}

TEST(Wide, TheErrorBoundsTheRounding) {
  // 0.1 + 0.2 - 0.3 in doubles is 5.5e-17; of the doubles themselves, exactly, 2.8e-17.
  const WideArray y = first_result("y(i) = x(0) + x(1) - x(2) where i in 0:1", {0.1, 0.2, 0.3});
  const long double computed = 0.1 + 0.2 - 0.3;
  EXPECT_NE(y.values[0].f, computed);
  EXPECT_LE(std::abs(y.values[0].f - computed), y.values[0].error);
  EXPECT_LT(y.values[0].error, 1e-15L);
}

TEST(Wide, WhatRoundingDecidesIsUnsure) {
  const std::string body = "y(i) = select(sin(x(0)) - sin(x(1)) < 1e-18, 1.0, 2.0) where i in 0:1";
  EXPECT_FALSE(first_result(body, {0.5, 0.5}).values[0].sure());
  EXPECT_TRUE(first_result(body, {0.5, 0.25}).values[0].sure());
  EXPECT_TRUE(first_result("y(i) = select(x(0) <= x(1), 1.0, 2.0) where i in 0:1", {0.5, 0.5})
                  .values[0]
                  .sure());  // of inputs, which nothing rounds
}

TEST(Wide, DecisionsMayBeTakenAsSure) {
  const Graph graph = parse_graph(
      "def f(double(2) x) -> (v, at) { (v, at)() argmax=! (sin(x(r)), r) where r in 0:2 }");
  const WideArray equal = reals({0.5, 0.5});
  WideInterpreter interpreter;
  EXPECT_FALSE(interpreter.run(graph, std::span(&equal, 1))[1].values[0].sure());
  interpreter.take_decisions_as_sure();
  const std::vector<WideArray> assumed = interpreter.run(graph, std::span(&equal, 1));
  EXPECT_TRUE(assumed[1].values[0].sure());
  EXPECT_GT(assumed[0].values[0].error, 0) << "rounding of the values counts";
  EXPECT_LT(assumed[0].values[0].error, 1e-15L);
}

// Found by the fuzzer: the difference of the two wraps.
TEST(Wide, FarIntegersHaveAWinner) {
  const Graph graph =
      parse_graph("def f(int64(2) x) -> (v, at) { (v, at)() argmax=! (x(r), r) where r in 0:2 }");
  WideArray far = WideArray::zeros(DType::Int64, {2});
  far.values = {Wide::of_int(INT64_MIN), Wide::of_int(1)};
  const std::vector<WideArray> found = WideInterpreter().run(graph, std::span(&far, 1));
  EXPECT_EQ(found[0].values[0].i, 1);
  EXPECT_EQ(found[1].values[0].i, 1);
}

// 0 times what rounding may bring to a pole is unsure: in doubles d is 0, and the factors below are
// infinite or NaN.
TEST(Wide, ZeroTimesWhatMayBeInfiniteIsUnsure) {
  const std::string d = "(x(0) * x(0) - x(1))";  // of the doubles themselves: 2.2e-18
  const std::vector<double> near = {0.7, 0.7 * 0.7, 0}, far = {0.7, 0.25, 0};
  const auto zero_times = [](const std::string& factor, const std::vector<double>& x) {
    return first_result("y(i) = x(2) * " + factor + " where i in 0:1", x).values[0];
  };
  for (const std::string& factor :
       {"(x(2) / hypot(" + d + ", x(2)))", "pow(" + d + ", -1.0)", "log(" + d + ")",
        "rsqrt(" + d + ")", "lgamma(" + d + ")", "digamma(" + d + ")", "fmod(x(2), " + d + ")",
        "atanh(1.0 - " + d + ")"}) {
    EXPECT_FALSE(zero_times(factor, near).sure()) << factor;
    EXPECT_TRUE(std::abs(zero_times(factor, far).error) < 1e-300L) << factor;
  }
}

TEST(Wide, DecisionsTellPiecesApart) {
  const std::string body = "y(i) max=! x(i + r_k) where i in 0:1, r_k in 0:2";
  uint64_t a = 0, b = 0, c = 0;
  first_result(body, {1, 2}, &a);
  first_result(body, {1.5, 2}, &b);
  first_result(body, {2, 1}, &c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(Wide, SumsHaveRoomForAnyOrder) {
  const WideArray y =
      first_result("y(i) +=! x(r_k) where i in 0:1, r_k in 0:4", {1e16, 1, -1e16, 1});
  EXPECT_EQ(static_cast<double>(y.values[0].f), 2);
  EXPECT_GE(y.values[0].error, 1);  // one after the other, doubles give 1
}

TEST(Wide, SumsThatMayLeaveTheRangeOnTheirWayAreUnsure) {
  const char* body = "y(i) +=! x(r_k) where i in 0:1, r_k in 0:4";
  const auto error = [&](std::vector<double> x) { return first_result(body, x).values[0].error; };
  EXPECT_EQ(error({1e308, 1e308, -1e308, -1e308}), Wide::kUnknown) << "0, or NaN";
  EXPECT_EQ(error({1e308, 1e308, 0, 0}), Wide::kUnknown);
  EXPECT_LT(error({1e307, -1e307, 1, 2}), Wide::kUnknown);
}

TEST(Wide, ProductsThatMayLeaveTheRangeOnTheirWayAreUnsure) {
  const char* body = "y(i) *=! x(r_k) where i in 0:1, r_k in 0:4";
  const auto error = [&](std::vector<double> x) { return first_result(body, x).values[0].error; };
  EXPECT_EQ(error({1e-200, 1e200, 1e-200, 1e200}), Wide::kUnknown) << "1e400, or 0, times the rest";
  EXPECT_EQ(error({0, 1e200, 1e200, 3}), Wide::kUnknown) << "0, or NaN";
  EXPECT_LT(error({0, 1e150, 1e150, 3}), 1e-300);
  EXPECT_LT(error({2, 3, 4, 5}), 1e-12);
}

TEST(Wide, StoppedValuesStay) {
  Graph graph = parse_graph(
      "def f(double(1) x) -> (z) { y(i) = x(i) * 2.0 where i in 0:1\n z(i) = x(i) * y(i) where i "
      "in "
      "0:1 }");
  graph.stages[0].stop_gradient = true;
  WideInterpreter interpreter;
  const WideArray at = reals({3}), moved = reals({4});
  EXPECT_EQ(static_cast<double>(interpreter.run(graph, std::span(&at, 1))[0].values[0].f), 18);
  interpreter.repeat_stopped();
  EXPECT_EQ(static_cast<double>(interpreter.run(graph, std::span(&moved, 1))[0].values[0].f), 24);
}

}  // namespace
}  // namespace adjit::testing
