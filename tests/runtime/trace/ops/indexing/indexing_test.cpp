// tests/runtime/trace/ops/indexing/indexing_test.cpp -- items of tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Indexing, BasicItems) {
  const Array x = counting({4, 5});
  const auto item = [&](const std::string& items) {
    return run("getitem", {x}, R"({"items": )" + items + "}");
  };
  expect(item("[1]"), {5}, {5, 6, 7, 8, 9});
  expect(item("[-1, -1]"), {}, {19});
  expect(item("[[null, null, -2], [1, 4, 2]]"), {2, 2}, {16, 18, 6, 8});
  expect(item(R"(["...", 0])"), {4}, {0, 5, 10, 15});
  expect(item(R"(["newaxis", [3, null, null], [0, 1, null]])"), {1, 1, 1}, {15});
  expect(item("[[9, 2, 1]]"), {0, 5}, {});
  expect(item("[[-100, 100, 3], 2]"), {2}, {2, 17});
  EXPECT_THROW(item("[4]"), Error);
  EXPECT_THROW(item("[0, 0, 0]"), Error);
  try {
    item("[0, 5]");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Bounds);
    for (const char* word : {"test.py:7", "index 5", "axis 1", "extent 5"})
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(Indexing, IndexTensors) {
  const Array x = counting({3, 4, 2}), i = i64({2}, {2, -3}), j = i64({2, 1}, {1, 3});
  // x[i, j]: broadcast to (2, 2), then the last dimension.
  expect(run("getitem", {x, i, j}, R"({"items": [{"tensor": 0}, {"tensor": 1}]})"), {2, 2, 2},
         {18, 19, 2, 3, 22, 23, 6, 7});
  // x[i, :, 1]: separated by a slice, the index dimensions come first.
  expect(run("getitem", {x, i}, R"({"items": [{"tensor": 0}, [null, null, null], 1]})"), {2, 4},
         {17, 19, 21, 23, 1, 3, 5, 7});
  // x[:, i2]: stays in place.
  expect(run("getitem", {x, i64({1}, {3})}, R"({"items": ["...", {"tensor": 0}, [0, 1, null]]})"),
         {3, 1, 1}, {6, 14, 22});
  EXPECT_THROW(run("getitem", {x, i64({1}, {3})}, R"({"items": [{"tensor": 0}]})"), Error);
}

}  // namespace
}  // namespace adjit::testing
