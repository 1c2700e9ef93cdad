// tests/runtime/trace/ops/spatial/window_test.cpp -- sliding windows from attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

// The output of a sum over windows of ones.
Shape windows(int64_t size, int64_t kernel, const std::string& attributes) {
  return run("nn.conv1d",
             {f64({1, 1, size}, Values(static_cast<size_t>(size), 1)),
              f64({1, 1, kernel}, Values(static_cast<size_t>(kernel), 1))},
             attributes)
      .shape;
}

TEST(Window, OutputsAreAsManyAsWindowsFit) {
  EXPECT_EQ(windows(10, 3, "{}"), (Shape{1, 1, 8}));
  EXPECT_EQ(windows(10, 3, R"({"stride": 2})"), (Shape{1, 1, 4}));
  EXPECT_EQ(windows(10, 3, R"({"dilation": 4})"), (Shape{1, 1, 2}));
  EXPECT_EQ(windows(10, 3, R"({"padding": 2})"), (Shape{1, 1, 12}));
  EXPECT_EQ(windows(10, 10, "{}"), (Shape{1, 1, 1}));
}

TEST(Window, PaddingMayBeNamedOrDifferAtTheEnds) {
  EXPECT_EQ(windows(10, 3, R"({"padding": "same"})"), (Shape{1, 1, 10}));
  EXPECT_EQ(windows(10, 4, R"({"padding": "same"})"), (Shape{1, 1, 10})) << "more behind";
  EXPECT_EQ(windows(10, 3, R"({"padding": "valid"})"), (Shape{1, 1, 8}));
  EXPECT_EQ(windows(10, 3, R"({"padding": [[0, 3]]})"), (Shape{1, 1, 11}));
}

TEST(Window, OnesThatDoNotFitAreShapeErrors) {
  for (const char* attributes : {"{}", R"({"dilation": 2})"}) try {
      windows(4, 5, attributes);
      ADD_FAILURE() << attributes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Shape) << error.what();
    }
  EXPECT_THROW(windows(10, 3, R"({"stride": 0})"), Error);
  EXPECT_THROW(windows(10, 3, R"({"padding": "full"})"), Error);
}

}  // namespace
}  // namespace adjit::testing
