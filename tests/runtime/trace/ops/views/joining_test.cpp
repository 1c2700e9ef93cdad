// tests/runtime/trace/ops/views/joining_test.cpp -- tensors joined and split.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Joining, ConcatStackSplit) {
  const Array a = counting({2, 1}), b = counting({2, 2});
  expect(run("concat", {a, b}, R"({"axis": 1})"), {2, 3}, {0, 0, 1, 1, 2, 3});
  expect(run("concat", {counting({0, 2}), b, b}), {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect(run("stack", {b, b}, R"({"axis": -1})"), {2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3});
  const std::vector<Array> parts =
      run_all("split", {counting({5})}, R"({"sections_or_indices": [1, 3]})");
  ASSERT_EQ(parts.size(), 3u);
  expect(parts[1], {2}, {1, 2});
  expect(parts[2], {2}, {3, 4});
  EXPECT_THROW(run("split", {counting({5})}, R"({"sections_or_indices": 2})"), Error);
  EXPECT_THROW(run("concat", {a, counting({3, 2})}, R"({"axis": 1})"), Error);
  expect(run_all("meshgrid", {counting({2}), counting({3})})[0], {3, 2}, {0, 1, 0, 1, 0, 1});
}

}  // namespace
}  // namespace adjit::testing
