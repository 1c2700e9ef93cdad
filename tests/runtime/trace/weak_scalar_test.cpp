// tests/runtime/trace/weak_scalar_test.cpp -- literals take the dtype of what they meet.
#include "runtime/trace/weak_scalar.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/messages.hpp"

namespace adjit::testing {
namespace {

TEST(WeakScalar, AloneItIsBoolInt64OrFloat64) {
  EXPECT_EQ(WeakScalar::of(true).dtype(), DType::Bool);
  EXPECT_EQ(WeakScalar::of(int64_t{3}).dtype(), DType::Int64);
  EXPECT_EQ(WeakScalar::of(2.5).dtype(), DType::Float64);
  EXPECT_EQ(WeakScalar::of(int64_t{3}).value(), 3);
  EXPECT_EQ(WeakScalar::of(true).value(), 1);
}

TEST(WeakScalar, IsWrittenAsInPython) {
  EXPECT_EQ(to_string(WeakScalar::of(true)), "True");
  EXPECT_EQ(to_string(WeakScalar::of(false)), "False");
  EXPECT_EQ(to_string(WeakScalar::of(int64_t{-3})), "-3");
  EXPECT_EQ(to_string(WeakScalar::of(2.5)), "2.5");
}

TEST(WeakScalar, AdaptsUpwardsOnly) {
  ExprPool pool;
  EXPECT_EQ(to_constant(pool, WeakScalar::of(true), DType::Float32),
            pool.constant_float(1, DType::Float32));
  EXPECT_EQ(to_constant(pool, WeakScalar::of(true), DType::Int8),
            pool.constant_int(1, DType::Int8));
  EXPECT_EQ(to_constant(pool, WeakScalar::of(int64_t{7}), DType::Float16),
            pool.constant_float(7, DType::Float16));
  EXPECT_EQ(to_constant(pool, WeakScalar::of(0.1), DType::Float32),
            pool.constant_float(0.1, DType::Float32));
  expect_words(
      message_of(ErrorCode::DType, [&] { to_constant(pool, WeakScalar::of(2.5), DType::Int64); }),
      {"the literal 2.5", "int64", "astype"});
  expect_words(message_of(ErrorCode::DType,
                          [&] { to_constant(pool, WeakScalar::of(int64_t{1}), DType::Bool); }),
               {"the literal 1", "bool", "True or False"});
}

TEST(WeakScalar, AnIntegerOutOfRangeIsRefused) {
  ExprPool pool;
  EXPECT_EQ(to_constant(pool, WeakScalar::of(int64_t{127}), DType::Int8),
            pool.constant_int(127, DType::Int8));
  EXPECT_EQ(to_constant(pool, WeakScalar::of(INT64_MIN), DType::Int64),
            pool.constant_int(INT64_MIN));
  for (const int64_t value : {int64_t{128}, int64_t{-129}, INT64_MAX})
    expect_words(message_of(ErrorCode::DType,
                            [&] { to_constant(pool, WeakScalar::of(value), DType::Int8); }),
                 {"out of range", "wider"});
  expect_words(message_of(ErrorCode::DType,
                          [&] { to_constant(pool, WeakScalar::of(int64_t{-1}), DType::UInt8); }),
               {"-1", "out of range"});
}

}  // namespace
}  // namespace adjit::testing
