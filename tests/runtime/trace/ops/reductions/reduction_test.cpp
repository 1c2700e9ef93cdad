// tests/runtime/trace/ops/reductions/reduction_test.cpp -- reductions, running reductions and
// contractions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

const Array kMatrix = f64({2, 3}, {1, 5, 2, -3, 4, 0.5});

TEST(Reduction, AxesAndKeepdims) {
  expect_near(run("sum", {kMatrix}), {9.5});
  expect_near(run("sum", {kMatrix}, R"({"axis": -1})"), {8, 1.5});
  const Array kept = run("sum", {kMatrix}, R"({"axis": 0, "keepdims": true})");
  EXPECT_EQ(kept.shape, (Shape{1, 3}));
  expect_near(kept, {-2, 9, 2.5});
  expect_near(run("max", {kMatrix}, R"({"axis": [1]})"), {5, 4});
  expect_near(run("min", {kMatrix}), {-3});
  expect_near(run("prod", {kMatrix}, R"({"axis": 1})"), {10, -6});
  expect_near(run("sum", {kMatrix}, R"({"axis": []})"), {1, 5, 2, -3, 4, 0.5});
  EXPECT_THROW(run("sum", {kMatrix}, R"({"axis": [1, -1]})"), Error);
}

TEST(Reduction, IntegersSumInInt64) {
  const Array bytes = array(DType::UInt8, {3}, {200, 200, 200});
  EXPECT_EQ(run("sum", {bytes}).dtype, DType::Int64);
  expect_near(run("sum", {bytes}), {600});
  expect_near(run("sum", {array(DType::Bool, {3}, {1, 0, 1})}), {2});
  expect_near(run("count_nonzero", {kMatrix}), {6});
}

TEST(Reduction, EmptyAxes) {
  const Array empty = f64({0, 3}, {});
  expect_near(run("sum", {empty}, R"({"axis": 0})"), {0, 0, 0});
  expect_near(run("prod", {empty}, R"({"axis": 0})"), {1, 1, 1});
  EXPECT_EQ(run("max", {empty}, R"({"axis": 1})").shape, (Shape{0}));
  try {
    run("max", {empty}, R"({"axis": 0})");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Shape);
    EXPECT_NE(std::string(e.what()).find("(0, 3)"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace adjit::testing
