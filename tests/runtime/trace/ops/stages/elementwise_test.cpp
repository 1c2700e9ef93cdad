// tests/runtime/trace/ops/stages/elementwise_test.cpp -- common dtypes and shapes of operands.
#include "runtime/trace/ops/stages/elementwise.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Elementwise, OperandsBroadcast) {
  const Array column = f64({2, 1}, {10, 20}), row = f64({3}, {1, 2, 3});
  const Array sum = run("add", {column, row});
  EXPECT_EQ(sum.shape, (std::vector<int64_t>{2, 3}));
  expect_near(sum, {11, 12, 13, 21, 22, 23});
  expect_near(run("pow", {row, row}), {1, 4, 27});
  expect_near(run("subtract", {row}, R"({"scalars": [1, null]})"), {0, -1, -2});
  EXPECT_EQ(run("add", {f64({0, 3}, {}), row}).shape, (std::vector<int64_t>{0, 3}));
}

TEST(Elementwise, IntegersWiden) {
  const Array narrow = array(DType::Int8, {2}, {100, 100});
  EXPECT_EQ(run("add", {narrow, i64({2}, {100, 1})}).dtype, DType::Int64);
  expect_near(run("add", {narrow, i64({2}, {100, 1})}), {200, 101});
  EXPECT_EQ(run("add", {narrow}, R"({"scalars": [null, 5]})").dtype, DType::Int8);
  EXPECT_THROW(run("add", {narrow}, R"({"scalars": [null, 500]})"), Error);
  EXPECT_EQ(run("add", {narrow}, R"({"scalars": [null, 0.5]})").dtype, DType::Float64);
}

}  // namespace
}  // namespace adjit::testing
