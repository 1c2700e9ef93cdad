// tests/runtime/trace/ops/elementwise/binary_test.cpp -- functions of two tensors.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Binary, DivisionsOfIntegersAndFloats) {
  const Array a = f64({4}, {7, -7, 7, -7}), b = f64({4}, {3, 3, -3, -3});
  expect_near(run("remainder", {a, b}), {1, 2, -2, -1});
  expect_near(run("fmod", {a, b}), {1, -1, 1, -1});
  expect_near(run("floor_divide", {a, b}), {2, -3, -3, 2});
  const Array i = i64({4}, {7, -7, 7, -7}), j = i64({4}, {3, 3, -3, -3});
  expect_near(run("remainder", {i, j}), {1, 2, -2, -1});
  expect_near(run("floor_divide", {i, j}), {2, -3, -3, 2});
  EXPECT_THROW(run("divide", {i, j}), Error);
}

TEST(Binary, SpecialValues) {
  expect_near(run("logaddexp", {f64({3}, {1000, -kInf, kInf}), f64({3}, {1000, -kInf, kInf})}),
              {1000 + std::numbers::ln2, -kInf, kInf});
  expect_near(run("xlogy", {f64({2}, {0, 2}), f64({2}, {0, 3})}), {0, 2 * std::log(3.0)});
  expect_near(run("copysign", {f64({2}, {3, -3}), f64({2}, {-0.0, 0.0})}), {-3, 3});
  expect_near(run("maximum", {f64({2}, {kNaN, 1}), f64({2}, {1, kNaN})}), {kNaN, kNaN});
  expect_near(run("add", {f64({1}, {1})}, R"({"scalars": [null, "inf"]})"), {kInf});
}

}  // namespace
}  // namespace adjit::testing
