// tests/runtime/trace/ops/elementwise/selection_test.cpp -- elementwise functions that choose.
#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Selection, WhereAndClip) {
  const Array c = array(DType::Bool, {3}, {1, 0, 1});
  expect_near(run("where", {c, f64({3}, {1, 2, 3})}, R"({"scalars": [null, null, 0.5]})"),
              {1, 0.5, 3});
  EXPECT_THROW(run("where", {f64({3}, {1, 0, 1}), c, c}), Error);
  const Array x = f64({4}, {-3, 0.25, 3, kNaN});
  expect_near(run("clip", {x}, R"({"scalars": [null, -1, 1]})"), {-1, 0.25, 1, kNaN});
  expect_near(run("clip", {x}, R"({"scalars": [null, null, 1.0], "optional": ["max"]})"),
              {-3, 0.25, 1, kNaN});
}

}  // namespace
}  // namespace adjit::testing
