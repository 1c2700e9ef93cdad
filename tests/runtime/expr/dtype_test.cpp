#include "runtime/expr/dtype.hpp"

#include <gtest/gtest.h>

namespace adjit::expr {
namespace {

TEST(DType, BothNamesReadBack) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const DType t = static_cast<DType>(k);
    EXPECT_EQ(dtype_from_name(name_of(t)), t);
    EXPECT_EQ(dtype_from_name(text_name_of(t)), t);
  }
  EXPECT_EQ(text_name_of(DType::Float32), "float");
  EXPECT_EQ(dtype_from_name("double"), DType::Float64);
  EXPECT_FALSE(dtype_from_name("quad"));
}

TEST(DType, KindsAndSizes) {
  EXPECT_EQ(size_of(DType::Bool), 1u);
  EXPECT_EQ(size_of(DType::BFloat16), 2u);
  EXPECT_EQ(size_of(DType::Float64), 8u);
  EXPECT_TRUE(is_float(DType::Float16));
  EXPECT_FALSE(is_float(DType::Int64));
  EXPECT_TRUE(is_integer(DType::UInt8));
  EXPECT_FALSE(is_integer(DType::Bool));
}

TEST(DType, HalvesAccumulateInFloat32) {
  EXPECT_EQ(accumulator_of(DType::Float16), DType::Float32);
  EXPECT_EQ(accumulator_of(DType::BFloat16), DType::Float32);
  EXPECT_EQ(accumulator_of(DType::Int8), DType::Int8);
}

}  // namespace
}  // namespace adjit::expr
