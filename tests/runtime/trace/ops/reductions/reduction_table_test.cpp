// tests/runtime/trace/ops/reductions/reduction_table_test.cpp -- each reduction by its definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

const Array kReduced = f64({2, 3}, {1, 5, 2, -3, 4, 0.5});

TEST(ReductionTable, Moments) {
  const double mean = 9.5 / 6;
  double squares = 0;
  for (double x : values(kReduced)) squares += (x - mean) * (x - mean);
  expect_near(run("mean", {kReduced}), {mean});
  expect_near(run("var", {kReduced}), {squares / 6});
  expect_near(run("std", {kReduced}, R"({"correction": 1})"), {std::sqrt(squares / 5)});
}

TEST(ReductionTable, AveragesOfIntegersAndBoolsAreFloat64) {
  for (const Array& x : {i64({4}, {1, 2, 3, 4}), array(DType::UInt8, {4}, {1, 2, 3, 4})}) {
    EXPECT_EQ(run("mean", {x}).dtype, DType::Float64);
    expect_near(run("mean", {x}), {2.5});
    expect_near(run("var", {x}), {1.25});
    expect_near(run("std", {x}), {std::sqrt(1.25)});
  }
  expect_near(run("mean", {array(DType::Bool, {4}, {1, 0, 1, 1})}), {0.75});
}

TEST(ReductionTable, ExtremesOfBools) {
  const Array x = array(DType::Bool, {3, 2}, {0, 0, 0, 1, 1, 1});
  expect_near(run("max", {x}, R"({"axis": 1})"), {0, 1, 1});
  expect_near(run("min", {x}, R"({"axis": 1})"), {0, 0, 1});
  expect_near(run("argmax", {x}, R"({"axis": 1})"), {0, 1, 0});
  expect_near(run("argmin", {x}, R"({"axis": 1})"), {0, 0, 0});
}

TEST(ReductionTable, LogsumexpOfNothing) {
  expect_near(run("logsumexp", {f64({2, 0}, {})}, R"({"axis": 1})"), {-kInf, -kInf});
  EXPECT_EQ(run("logsumexp", {f64({2, 0}, {})}, R"({"axis": 1, "keepdims": true})").shape,
            (Shape{2, 1}));
}

TEST(ReductionTable, LogsumexpIsStable) {
  expect_near(run("logsumexp", {f64({2}, {1000, 1000})}), {1000 + std::log(2.0)});
  EXPECT_EQ(run("logsumexp", {f64({2}, {-kInf, -kInf})}).at(0), -kInf);
  EXPECT_EQ(run("logsumexp", {kReduced}, R"({"axis": 1, "keepdims": true})").shape, (Shape{2, 1}));
}

TEST(ReductionTable, Positions) {
  expect_near(run("argmax", {kReduced}), {1});
  expect_near(run("argmin", {kReduced}, R"({"axis": 1})"), {0, 0});
  expect_near(run("argmax", {f64({4}, {1, 3, 3, 2})}, R"({"axis": 0})"), {1});
  expect_near(run("argmax", {f64({3}, {1, std::nan(""), 3})}), {1});
  EXPECT_EQ(run("argmax", {kReduced}, R"({"keepdims": true})").shape, (Shape{1, 1}));
}

}  // namespace
}  // namespace adjit::testing
