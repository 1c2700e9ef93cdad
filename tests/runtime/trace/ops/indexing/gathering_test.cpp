// tests/runtime/trace/ops/indexing/gathering_test.cpp -- elements at places that data names.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Gathering, TakeAndItsModes) {
  const Array x = counting({2, 3});
  expect(run("take", {x, i64({2}, {2, 0})}, R"({"axis": 1})"), {2, 2}, {2, 0, 5, 3});
  expect(run("take", {x, i64({}, {1})}, R"({"axis": 0})"), {3}, {3, 4, 5});
  expect(run("take", {x}, R"({"indices": [-1, 1]})"), {2}, {5, 1});
  expect(run("take", {x, i64({2}, {7, -7})}, R"({"axis": 1, "mode": "clip"})"), {2, 2},
         {2, 0, 5, 3});
  expect(run("take", {x, i64({2}, {4, -1})}, R"({"axis": 1, "mode": "wrap"})"), {2, 2},
         {1, 2, 4, 5});
  EXPECT_THROW(run("take", {x}, R"({"indices": [6]})"), Error);
  EXPECT_THROW(run("take", {x, i64({1}, {5})}, R"({"axis": 0})"), Error);
  expect(run("take_along_axis", {x, i64({2, 1}, {2, 1})}), {2, 1}, {2, 4});
  expect(run("scatter_add", {x, i64({2, 2}, {0, 0, 2, 1}), f64({2, 2}, {1, 1, 1, 1})}), {2, 3},
         {2, 1, 2, 3, 5, 6});
  expect(run("index_add", {x, i64({2}, {1, 1}), counting({2, 3})}), {2, 3}, {0, 1, 2, 6, 9, 12});
  expect(run("nn.one_hot", {i64({2}, {2, 0})}, R"({"num_classes": 3})"), {2, 3},
         {0, 0, 1, 1, 0, 0});
}

}  // namespace
}  // namespace adjit::testing
