// tests/runtime/trace/ops/views/view_table_test.cpp -- operators that only rename indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Views, Reorder) {
  const Array x = counting({2, 3});
  expect(run("transpose", {x}), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect(run("flip", {x}), {2, 3}, {5, 4, 3, 2, 1, 0});
  expect(run("flip", {x}, R"({"axis": 1})"), {2, 3}, {2, 1, 0, 5, 4, 3});
  expect(run("roll", {x}, R"({"shift": 1, "axis": 1})"), {2, 3}, {2, 0, 1, 5, 3, 4});
  expect(run("roll", {x}, R"({"shift": -2})"), {2, 3}, {2, 3, 4, 5, 0, 1});
  expect(run("tile", {counting({2})}, R"({"repetitions": [2, 2]})"), {2, 4},
         {0, 1, 0, 1, 0, 1, 0, 1});
  expect(run("repeat", {x}, R"({"repeats": 2, "axis": 1})"), {2, 6},
         {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect(run("moveaxis", {counting({1, 2, 3})}, R"({"source": 2, "destination": 0})"), {3, 1, 2},
         {0, 3, 1, 4, 2, 5});
  expect(run("broadcast_to", {counting({2, 1})}, R"({"shape": [2, 2, 3]})"), {2, 2, 3},
         {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  EXPECT_EQ(run("expand_dims", {x}, R"({"axis": [0, 2]})").shape, (Shape{1, 2, 1, 3}));
  EXPECT_THROW(run("squeeze", {x}, R"({"axis": 0})"), Error);
}

TEST(Views, PixelShuffleIsItsUnshufflesInverse) {
  const Array x = counting({1, 8, 2, 3});
  const Array y = run("nn.pixel_shuffle", {x}, R"({"upscale_factor": 2})");
  EXPECT_EQ(y.shape, (Shape{1, 2, 4, 6}));
  EXPECT_EQ(values(y)[1], 6);  // channel 1 stands right of channel 0
  expect(run("nn.pixel_unshuffle", {y}, R"({"downscale_factor": 2})"), {1, 8, 2, 3}, values(x));
}

}  // namespace
}  // namespace adjit::testing
