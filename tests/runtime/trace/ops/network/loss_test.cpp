// tests/runtime/trace/ops/network/loss_test.cpp -- losses element by element.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Loss, EachIsItsFormula) {
  const Array a = f64({3}, {1, 2, -3}), b = f64({3}, {1.5, 0, -3});
  expect_near(run("nn.mse_loss", {a, b}), {(0.25 + 4) / 3});
  expect_near(run("nn.l1_loss", {a, b}, R"({"reduction": "sum"})"), {2.5});
  expect_near(run("nn.smooth_l1_loss", {a, b}, R"({"reduction": "none"})"), {0.125, 1.5, 0});
  expect_near(run("nn.huber_loss", {a, b}, R"({"reduction": "none", "delta": 0.25})"),
              {0.25 * 0.375, 0.25 * 1.875, 0});
  expect_near(run("nn.binary_cross_entropy_with_logits", {f64({2}, {800, -800}), f64({2}, {0, 0})},
                  R"({"reduction": "none"})"),
              {800, 0});
  expect_near(run("nn.binary_cross_entropy", {f64({2}, {0.25, 0}), f64({2}, {1, 1})},
                  R"({"reduction": "none"})"),
              {-std::log(0.25), 100});
  expect_near(run("nn.kl_div", {f64({2}, {std::log(0.5), std::log(0.5)}), f64({2}, {1, 0})},
                  R"({"reduction": "sum"})"),
              {std::log(2.0)});
}

}  // namespace
}  // namespace adjit::testing
