// tests/runtime/trace/ops/views/triangle_test.cpp -- triangles and diagonals.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Triangles, CutAndEmbed) {
  const Array x = counting({3, 3});
  expect(run("tril", {x}), {3, 3}, {0, 0, 0, 3, 4, 0, 6, 7, 8});
  expect(run("triu", {x}, R"({"k": 1})"), {3, 3}, {0, 1, 2, 0, 0, 5, 0, 0, 0});
  expect(run("diagonal", {x}, R"({"offset": -1})"), {2}, {3, 7});
  expect(run("trace", {x}), {}, {12});
  expect(run("diag_embed", {f64({2}, {5, 6})}, R"({"offset": 1})"), {3, 3},
         {0, 5, 0, 0, 0, 6, 0, 0, 0});
}

}  // namespace
}  // namespace adjit::testing
