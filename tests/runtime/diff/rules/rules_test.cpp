// tests/runtime/diff/rules/rules_test.cpp -- each row of the rule table against central differences
// in float64.
#include "runtime/diff/rules/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/expr/error.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

struct RuleCase {
  Op op;
  std::vector<double> operands;  // one per operand, inside the domain, off kinks
};

const std::vector<RuleCase>& smooth_cases() {
  static const std::vector<RuleCase> cases{
      {Op::Neg, {0.7}},           {Op::Abs, {-0.7}},        {Op::Abs, {0.7}},
      {Op::Exp, {0.3}},           {Op::Exp2, {0.3}},        {Op::Expm1, {0.3}},
      {Op::Log, {0.8}},           {Op::Log2, {0.8}},        {Op::Log10, {0.8}},
      {Op::Log1p, {0.8}},         {Op::Sqrt, {0.8}},        {Op::Rsqrt, {0.8}},
      {Op::Sin, {0.8}},           {Op::Cos, {0.8}},         {Op::Tan, {0.8}},
      {Op::Asin, {0.4}},          {Op::Acos, {0.4}},        {Op::Atan, {0.4}},
      {Op::Sinh, {0.4}},          {Op::Cosh, {0.4}},        {Op::Tanh, {0.4}},
      {Op::Asinh, {0.4}},         {Op::Acosh, {1.7}},       {Op::Atanh, {0.4}},
      {Op::Sigmoid, {0.4}},       {Op::Erf, {0.4}},         {Op::Erfc, {0.4}},
      {Op::Erfinv, {0.4}},        {Op::Lgamma, {1.7}},      {Op::Lgamma, {-1.3}},
      {Op::Digamma, {1.7}},       {Op::Digamma, {-1.3}},    {Op::Add, {0.4, 0.9}},
      {Op::Sub, {0.4, 0.9}},      {Op::Mul, {0.4, 0.9}},    {Op::Div, {0.4, 0.9}},
      {Op::Mod, {2.4, 0.9}},      {Op::Mod, {-2.4, 0.9}},   {Op::Fmod, {2.4, 0.9}},
      {Op::Fmod, {-2.4, 0.9}},    {Op::Min, {0.4, 0.9}},    {Op::Min, {0.9, 0.4}},
      {Op::Max, {0.4, 0.9}},      {Op::Max, {0.9, 0.4}},    {Op::Pow, {0.8, 2.3}},
      {Op::Atan2, {0.8, 2.3}},    {Op::Atan2, {0.8, -2.3}}, {Op::Hypot, {0.8, -2.3}},
      {Op::Fma, {0.8, 2.3, 0.4}}, {Op::Floor, {0.4}},       {Op::Ceil, {0.4}},
      {Op::Trunc, {0.4}},         {Op::Round, {0.4}},       {Op::Sign, {0.4}},
      {Op::FloorDiv, {2.4, 0.9}}};
  return cases;
}

Graph unary_or_more(Op op, size_t arity) {
  Forward f;
  std::vector<TensorId> inputs;
  for (size_t k = 0; k < arity; ++k) inputs.push_back(f.input("x" + std::to_string(k), {}));
  const TensorId y = f.map("y", {}, [&](const Axes&) {
    std::vector<ExprId> operands;
    for (TensorId input : inputs) operands.push_back(f.at(input, {}).id);
    return Ex{&f.graph.pool, f.graph.pool.make(op, operands)};
  });
  return f.returning({y});
}

class SmoothRule : public ::testing::TestWithParam<RuleCase> {};

TEST_P(SmoothRule, AgreesWithDifferencesToOrderTwo) {
  const RuleCase& c = GetParam();
  const Graph forward = unary_or_more(c.op, c.operands.size());
  std::vector<Array> inputs;
  for (double x : c.operands) inputs.push_back(Array::of(DType::Float64, {}, std::span(&x, 1)));
  EXPECT_TRUE(check_gradients(forward, inputs, 2));
}

INSTANTIATE_TEST_SUITE_P(Table, SmoothRule, ::testing::ValuesIn(smooth_cases()),
                         [](const auto& info) {
                           return std::string(adjit::expr::info(info.param.op).id) + "_" +
                                  std::to_string(info.index);
                         });

TEST(Rules, EveryOperationHasARowAndEverySmoothRowACase) {
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    EXPECT_EQ(rule_of(op).op, op);
    if (rule_of(op).kind != RuleKind::Smooth || op == Op::Select || op == Op::Cast) continue;
    if (op == Op::Polygamma) continue;  // not a function of a real order
    EXPECT_TRUE(std::ranges::any_of(smooth_cases(), [&](const RuleCase& c) { return c.op == op; }))
        << info(op).id;
  }
}

// The gradient of op at the point, per operand, for cotangent 1.
std::vector<double> gradient_at(Op op, std::vector<double> operands) {
  const Graph forward = unary_or_more(op, operands.size());
  std::vector<size_t> wrt;
  std::vector<Array> inputs;
  for (size_t k = 0; k < operands.size(); ++k) {
    wrt.push_back(k);
    inputs.push_back(Array::of(DType::Float64, {}, std::span(&operands[k], 1)));
  }
  std::vector<double> result;
  for (const Array& g : interpret(gradient(forward, wrt, 0, false), inputs))
    result.push_back(g.at(0));
  return result;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Rules, Kinks) {
  EXPECT_EQ(gradient_at(Op::Abs, {0.0})[0], 0);
  EXPECT_EQ(gradient_at(Op::Sqrt, {0.0})[0], kInf);
  EXPECT_EQ(gradient_at(Op::Max, {1.0, 1.0}), (std::vector{0.5, 0.5}));
  EXPECT_EQ(gradient_at(Op::Min, {1.0, 1.0}), (std::vector{0.5, 0.5}));
  EXPECT_EQ(gradient_at(Op::Max, {kNaN, 1.0})[0], 1);
}

TEST(Rules, PowerAtZeroAsTorch) {
  EXPECT_EQ(gradient_at(Op::Pow, {0.0, 2.0}), (std::vector{0.0, 0.0}));
  EXPECT_EQ(gradient_at(Op::Pow, {0.0, 1.0})[0], 1);
  EXPECT_EQ(gradient_at(Op::Pow, {0.0, 0.0}), (std::vector{0.0, 0.0}));
  EXPECT_EQ(gradient_at(Op::Pow, {-2.0, 3.0})[0], 12);
  EXPECT_TRUE(std::isnan(gradient_at(Op::Pow, {-2.0, 3.0})[1]));
}

TEST(Rules, PolygammaToEveryOrder) {
  for (double x : {-1.3, 0.2, 1.7, 25.0}) {
    Forward f;
    const TensorId at = f.input("x", {});
    const TensorId y = f.map("y", {}, [&](const Axes&) {
      return call(Op::Polygamma, number(f.at(at, {}), 1), f.at(at, {}));
    });
    const std::vector<Array> inputs{Array::of(DType::Float64, {}, std::span(&x, 1))};
    EXPECT_TRUE(check_gradients(f.returning({y}), inputs, 4)) << x;
  }
}

TEST(Rules, PowerAtZeroAndANegativeExponent) {
  const std::vector<double> g = gradient_at(Op::Pow, {0.0, -1.0});
  EXPECT_EQ(g, (std::vector{-kInf, -kInf}));
  EXPECT_EQ(gradient_at(Op::Pow, {-0.0, -1.0})[1], kInf);  // -inf log 0
  EXPECT_TRUE(std::isnan(gradient_at(Op::Pow, {0.0, kNaN})[1]));
}

TEST(Rules, TheOriginOfALength) {
  EXPECT_EQ(gradient_at(Op::Hypot, {0.0, 0.0}), (std::vector{0.0, 0.0}));
  EXPECT_EQ(gradient_at(Op::Atan2, {0.0, 0.0}), (std::vector{0.0, 0.0}));
}

void expect_slopes(Op op, std::vector<double> operands, const std::vector<double>& wanted) {
  const std::vector<double> got = gradient_at(op, std::move(operands));
  for (size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(got[k] / wanted[k], 1, 1e-14) << k;
}

TEST(Rules, SquaresOnTheWayStayInTheRange) {
  expect_slopes(Op::Atan2, {3e-200, 4e-200}, {0.16e200, -0.12e200});
  expect_slopes(Op::Atan2, {3e200, 4e200}, {0.16e-200, -0.12e-200});
  expect_slopes(Op::Hypot, {3e200, 4e200}, {0.6, 0.8});
  expect_slopes(Op::Asinh, {1e200}, {1e-200});
  expect_slopes(Op::Acosh, {1e200}, {1e-200});
}

TEST(Rules, DifferencesOnTheWayDoNotCancel) {
  expect_slopes(Op::Expm1, {-50.0}, {std::exp(-50.0)});
  const double step = 0x1p-50;  // 1 - x^2 = 2 step - step^2 beside 1
  const double slope = 1 / std::sqrt(2 * step - step * step);
  expect_slopes(Op::Asin, {1 - step}, {slope});
  expect_slopes(Op::Acos, {1 - step}, {-slope});
  expect_slopes(Op::Acosh, {1 + step}, {1 / std::sqrt(2 * step + step * step)});
  expect_slopes(Op::Atanh, {1 - step}, {slope * slope});
}

TEST(Rules, CastPassesFloatsAndStopsAtIntegers) {
  Forward f;
  const TensorId x = f.input("x", {3}, DType::Float64);
  const TensorId y = f.map("y", {3}, [&](const Axes& i) {
    const Ex v = f.at(x, i);
    ExprPool& pool = f.graph.pool;
    const ExprId narrow = pool.cast(pool.cast(v.id, DType::Float32), DType::Float64);
    const ExprId whole = pool.cast(pool.cast(v.id, DType::Int32), DType::Float64);
    return v * Ex{&pool, narrow} + v * Ex{&pool, whole};
  });
  const Graph forward = f.returning({y});
  const std::vector<double> values{0.5, 1.5, 2.25};
  const Array in = Array::of(DType::Float64, {3}, values);
  const Array ones = Array::of(DType::Float64, {3}, std::vector<double>{1, 1, 1});
  const std::vector<Array> got = interpret(vjp(forward, {{0}, {0}}), std::vector{in, ones});
  for (int64_t k = 0; k < 3; ++k) {
    const double v = values[static_cast<size_t>(k)];
    EXPECT_EQ(got[0].at(k), 2 * v + std::trunc(v));
  }
}

}  // namespace
}  // namespace adjit::testing
