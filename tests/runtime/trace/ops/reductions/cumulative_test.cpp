// tests/runtime/trace/ops/reductions/cumulative_test.cpp -- running folds.
#include <gtest/gtest.h>

#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Cumulative, RunningFolds) {
  const Array x = f64({2, 3}, {1, 2, 3, 3, 1, 2});
  expect_near(run("cumsum", {x}, R"({"axis": 1})"), {1, 3, 6, 3, 4, 6});
  expect_near(run("cumsum", {x}, R"({"axis": 1, "reverse": true})"), {6, 5, 3, 6, 3, 2});
  expect_near(run("cumsum", {x}), {1, 3, 6, 9, 10, 12});
  expect_near(run("cumprod", {x}, R"({"axis": 1})"), {1, 2, 6, 3, 3, 6});
  expect_near(run("cummax", {x}, R"({"axis": 1})"), {1, 2, 3, 3, 3, 3});
  expect_near(run("cummin", {x}, R"({"axis": 0})"), {1, 2, 3, 1, 1, 2});
  const double e1 = std::log(std::exp(1.0) + std::exp(2.0));
  expect_near(run("logcumsumexp", {f64({2}, {1, 2})}, R"({"axis": 0})"), {1, e1});
}

}  // namespace
}  // namespace adjit::testing
