// tests/runtime/trace/ops/elementwise/unary_test.cpp -- functions of one tensor, and activations,
// against <cmath>.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

double softplus(double x) { return std::log1p(std::exp(x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

TEST(Unary, AgreesWithCmath) {
  const std::map<std::string, std::function<double(double)>> references{
      {"negative", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"square", [](double x) { return x * x; }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"sigmoid", sigmoid},
      {"nn.relu", [](double x) { return x > 0 ? x : 0; }},
      {"nn.relu6", [](double x) { return clamp(x, 0, 6); }},
      {"nn.leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"nn.elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"nn.selu",
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       }},
      {"nn.gelu", [](double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }},
      {"nn.silu", [](double x) { return x * sigmoid(x); }},
      {"nn.mish", [](double x) { return x * std::tanh(softplus(x)); }},
      {"nn.softplus", softplus},
      {"nn.softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"nn.logsigmoid", [](double x) { return std::log(sigmoid(x)); }},
      {"nn.hardtanh", [](double x) { return clamp(x, -1, 1); }},
      {"nn.hardsigmoid", [](double x) { return clamp(x + 3, 0, 6) / 6; }},
      {"nn.hardswish", [](double x) { return x * clamp(x + 3, 0, 6) / 6; }},
      {"nn.hardshrink", [](double x) { return std::abs(x) > 0.5 ? x : 0; }},
      {"nn.softshrink", [](double x) { return std::abs(x) > 0.5 ? x - std::copysign(0.5, x) : 0; }},
      {"nn.tanhshrink", [](double x) { return x - std::tanh(x); }},
  };
  const Values points{-4.5, -3, -1.25, -0.5, -0.125, 0.25, 0.5, 1, 2.5, 3, 7};
  for (const auto& [name, reference] : references) {
    Values wanted;
    for (double x : points) wanted.push_back(reference(x));
    expect_near(run(name, {f64({11}, points)}), wanted, 1e-12, name);
  }
}

TEST(Unary, KeepsNaNAndInfinity) {
  const Array x = f64({3}, {kNaN, kInf, -kInf});
  expect_near(run("nn.relu", {x}), {kNaN, kInf, 0});
  expect_near(run("nn.softplus", {x}), {kNaN, kInf, 0});
  expect_near(run("isnan", {x}), {1, 0, 0});
  expect_near(run("isinf", {x}), {0, 1, 1});
  expect_near(run("isfinite", {i64({2}, {1, 2})}), {1, 1});
  expect_near(run("nn.softplus", {f64({2}, {1000, -1000})}), {1000, 0});
}

TEST(Unary, IntegersNeedACastForRealFunctions) {
  try {
    run("exp", {i64({2}, {1, 2})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::DType);
    EXPECT_NE(std::string(e.what()).find("astype"), std::string::npos) << e.what();
  }
  expect_near(run("floor", {i64({2}, {1, 2})}), {1, 2});
  EXPECT_EQ(run("astype", {f64({2}, {1.7, -1.7})}, R"({"dtype": "int8"})").dtype, DType::Int8);
  expect_near(run("astype", {f64({2}, {1.7, -1.7})}, R"({"dtype": "int8"})"), {1, -1});
}

}  // namespace
}  // namespace adjit::testing
