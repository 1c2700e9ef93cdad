// tests/runtime/trace/ops/elementwise/activation_test.cpp -- activations by their formulas, at
// kinks and far out.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Activation, KinksBelongToTheSideOfTorch) {
  const Array x = f64({3}, {-1, 0, 1});
  expect_near(run("nn.relu", {x}), {0, 0, 1});
  expect_near(run("nn.hardtanh", {f64({4}, {-2, -1, 1, 2})}), {-1, -1, 1, 1});
  expect_near(run("nn.hardshrink", {f64({4}, {-0.5, 0.5, -0.6, 0.6})}), {0, 0, -0.6, 0.6});
  expect_near(run("nn.softshrink", {f64({4}, {-0.5, 0.5, -1, 1})}), {0, 0, -0.5, 0.5});
  expect_near(run("nn.threshold", {x}, R"({"threshold": 0, "value": 9})"), {9, 9, 1});
}

TEST(Activation, AttributesShapeTheFormula) {
  const Array x = f64({2}, {-2, 3});
  expect_near(run("nn.leaky_relu", {x}, R"({"negative_slope": 0.1})"), {-0.2, 3});
  expect_near(run("nn.elu", {x}, R"({"alpha": 2.0})"), {2 * std::expm1(-2.0), 3});
  expect_near(run("nn.celu", {x}, R"({"alpha": 2.0})"), {2 * std::expm1(-1.0), 3});
  expect_near(run("nn.softplus", {x}, R"({"beta": 2})"),
              {std::log1p(std::exp(-4.0)) / 2, std::log1p(std::exp(6.0)) / 2});
}

TEST(Activation, GeluIsExactOrItsApproximation) {
  const Array x = f64({3}, {-1, 0, 2});
  Values exact, tanh;
  for (const double v : {-1.0, 0.0, 2.0}) {
    exact.push_back(v * 0.5 * std::erfc(-v / std::sqrt(2)));
    tanh.push_back(v * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
  }
  expect_near(run("nn.gelu", {x}), exact);
  expect_near(run("nn.gelu", {x}, R"({"approximate": "tanh"})"), tanh);
  EXPECT_THROW(run("nn.gelu", {x}, R"({"approximate": "none of these"})"), Error);
}

TEST(Activation, FarOutNothingOverflows) {
  const Array far = f64({2}, {1e4, -1e4});
  expect_near(run("nn.softplus", {far}), {1e4, 0});
  expect_near(run("nn.logsigmoid", {far}), {0, -1e4});
  expect_near(run("nn.silu", {far}), {1e4, 0});
  expect_near(run("nn.mish", {far}), {1e4, 0});
  expect_near(run("nn.selu", {far}), {1e4 * 1.0507009873554805, -1.7580993408473766});
}

TEST(Activation, GluHalvesADimensionThatIsEven) {
  const Array x = f64({2, 4}, {1, 2, 0, 0, 3, 4, 0, 0});
  const Array y = run("nn.glu", {x});
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 2}));
  expect_near(y, {0.5, 1, 1.5, 2});
  EXPECT_THROW(run("nn.glu", {f64({3}, {1, 2, 3})}), Error);
}

}  // namespace
}  // namespace adjit::testing
