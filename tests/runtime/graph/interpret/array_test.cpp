// tests/runtime/graph/interpret/array_test.cpp -- the interpreter's arrays.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Array, ZerosHaveTheBytesOfTheirShape) {
  const Array array = Array::zeros(DType::Int16, {2, 3});
  EXPECT_EQ(array.bytes, std::vector<std::byte>(12));
  EXPECT_EQ(array.element_count(), 6);
  EXPECT_EQ(Array::zeros(DType::Float64, {}).element_count(), 1) << "a scalar";
  EXPECT_TRUE(Array::zeros(DType::Float64, {4, 0, 5}).bytes.empty());
}

TEST(Array, ShapesThatAreNoneAreRefused) {
  EXPECT_THROW(Array::zeros(DType::Float32, {3, -1}), Error);
  EXPECT_THROW(Array::zeros(DType::Float32, {INT64_MAX, 2}), Error) << "more than 64 bits count";
  EXPECT_EQ(Array::zeros(DType::Float32, {0, INT64_MAX, 2}).element_count(), 0);
  try {
    Array::of(DType::Float32, {2, 2}, List{1, 2, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
    EXPECT_STREQ(error.what(), "an array of 4 elements is given 3 values");
  }
}

// What is set is rounded, wrapped into or saturated at the ends of the dtype, as a cast is.
TEST(Array, ValuesAreOfTheDType) {
  const auto stored = [](DType dtype, double value) {
    Array array = Array::zeros(dtype, {1});
    array.set(0, value);
    return array.at(0);
  };
  EXPECT_EQ(stored(DType::Float32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(stored(DType::Float16, 2049), 2048);
  EXPECT_EQ(stored(DType::BFloat16, 257), 256);
  EXPECT_EQ(stored(DType::Float16, 1e9), std::numeric_limits<double>::infinity());
  EXPECT_EQ(stored(DType::Int8, 300), 127);
  EXPECT_EQ(stored(DType::UInt8, -3), 0);
  EXPECT_EQ(stored(DType::Int32, -2.9), -2);
  EXPECT_EQ(stored(DType::Bool, 5), 1);
  EXPECT_EQ(stored(DType::Int64, std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_TRUE(std::isnan(stored(DType::Float16, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::signbit(stored(DType::BFloat16, -0.0)));
}

TEST(Array, ElementsAreCountedInMemoryOrder) {
  const Array array = Array::of(DType::Int32, {2, 2}, List{1, 2, 3, 4});
  EXPECT_EQ(values(array), (List{1, 2, 3, 4}));
  EXPECT_EQ(array.bytes[4], std::byte{2}) << "little-endian, four bytes an element";
}

}  // namespace
}  // namespace adjit::graph
