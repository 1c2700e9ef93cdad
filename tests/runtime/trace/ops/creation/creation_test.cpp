// tests/runtime/trace/ops/creation/creation_test.cpp -- tensors made of nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Creation, Fills) {
  expect(run("zeros", {}, R"({"shape": [2]})"), {2}, {0, 0});
  EXPECT_EQ(run("zeros", {}, R"({"shape": [2]})").dtype, DType::Float32);
  expect(run("arange", {}, R"({"start": 5, "stop": 0, "step": -2})"), {3}, {5, 3, 1});
  expect(run("arange", {}, R"({"start": 3})"), {3}, {0, 1, 2});
  EXPECT_EQ(run("arange", {}, R"({"start": 0, "stop": 1, "step": 0.25})").shape, (Shape{4}));
  expect(run("eye", {}, R"({"n_rows": 2, "n_cols": 3, "k": 1})"), {2, 3}, {0, 1, 0, 0, 0, 1});
  expect(run("linspace", {}, R"({"start": 1, "stop": 2, "num": 3, "dtype": "float64"})"), {3},
         {1, 1.5, 2});
  expect(run("full", {f64({}, {7})}, R"({"shape": [2]})"), {2}, {7, 7});
}

}  // namespace
}  // namespace adjit::testing
