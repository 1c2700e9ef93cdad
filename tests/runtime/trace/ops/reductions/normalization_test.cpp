// tests/runtime/trace/ops/reductions/normalization_test.cpp -- norms by their definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Normalization, LayerNormByTheDefinition) {
  const Array x = random_array(DType::Float64, {2, 4}, -2, 2, 3);
  const Array w = f64({4}, {1, 2, 3, 4}), b = f64({4}, {0, 0, 1, 1});
  Values wanted;
  for (int64_t n = 0; n < 2; ++n) {
    double mean = 0, var = 0;
    for (int64_t k = 0; k < 4; ++k) mean += x.at(n * 4 + k) / 4;
    for (int64_t k = 0; k < 4; ++k) var += (x.at(n * 4 + k) - mean) * (x.at(n * 4 + k) - mean) / 4;
    for (int64_t k = 0; k < 4; ++k)
      wanted.push_back((x.at(n * 4 + k) - mean) / std::sqrt(var + 1e-5) * w.at(k) + b.at(k));
  }
  expect_near(run("nn.layer_norm", {x, w, b}, R"({"normalized_shape": [4]})"), wanted);
}

TEST(Normalization, BatchNormUpdatesItsRunningValues) {
  const Array x = f64({2, 1, 2}, {1, 2, 3, 6}), mean = f64({1}, {10}), var = f64({1}, {1});
  const std::vector<Array> out =
      run_all("nn.batch_norm", {x, mean, var}, R"({"training": true, "momentum": 0.5})");
  ASSERT_EQ(out.size(), 3u);
  const double s = std::sqrt(3.5 + 1e-5);
  expect_near(out[0], {-2 / s, -1 / s, 0, 3 / s});
  expect_near(out[1], {6.5});
  expect_near(out[2], {0.5 + 0.5 * 14.0 / 3});
  expect_near(run_all("nn.batch_norm", {x, mean, var})[0],
              {-9 / std::sqrt(1 + 1e-5), -8 / std::sqrt(1 + 1e-5), -7 / std::sqrt(1 + 1e-5),
               -4 / std::sqrt(1 + 1e-5)});
  EXPECT_THROW(run_all("nn.batch_norm", {x}), Error);
}

TEST(Normalization, OthersAreTheirDefinitions) {
  const Array x = f64({1, 2, 2}, {3, 4, 0, 0});
  expect_near(run("nn.normalize", {x}, R"({"dim": 2})"), {0.6, 0.8, 0, 0});
  expect_near(run("nn.rms_norm", {f64({2}, {3, 4})}, R"({"normalized_shape": 2, "eps": 0.0})"),
              {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  expect_near(run("nn.local_response_norm", {f64({1, 3, 1}, {1, 2, 3})},
                  R"({"size": 3, "alpha": 3.0, "beta": 1.0})"),
              {1.0 / 6, 2.0 / 15, 3.0 / 14});
  const double s = 1 / std::sqrt(0.25 + 1e-5);
  expect_near(run("nn.instance_norm", {f64({1, 2, 2}, {0, 1, 5, 6})}),
              {-0.5 * s, 0.5 * s, -0.5 * s, 0.5 * s});
}

}  // namespace
}  // namespace adjit::testing
