#include "runtime/expr/integer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace adjit::expr {
namespace {

TEST(Integer, DivisionFloorsForEverySign) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b : {-7, -3, -2, -1, 1, 2, 3, 7}) {
      const double exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(floor_div(a, b), static_cast<int64_t>(std::floor(exact))) << a << " / " << b;
      EXPECT_EQ(ceil_div(a, b), static_cast<int64_t>(std::ceil(exact))) << a << " / " << b;
      EXPECT_EQ(floor_mod(a, b), a - b * floor_div(a, b));
    }
}

TEST(Integer, ModuloHasTheSignOfTheDivisor) {
  EXPECT_EQ(floor_mod(-1, 5), 4);
  EXPECT_EQ(floor_mod(1, -5), -4);
  EXPECT_EQ(floor_mod(5, INT64_MIN), 5 + INT64_MIN) << "no product leaves the range on the way";
  EXPECT_EQ(floor_mod(INT64_MIN, -1), 0);
  EXPECT_EQ(floor_mod(INT64_MIN, 7), floor_mod(INT64_MIN + 7, 7));
}

TEST(Integer, CeilingOfTheExtremes) {
  EXPECT_EQ(ceil_div(INT64_MIN, 2), INT64_MIN / 2);
  EXPECT_EQ(ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

TEST(Integer, CheckedOperationsThrow) {
  EXPECT_EQ(checked_add(2, 3), 5);
  EXPECT_THROW(checked_add(INT64_MAX, 1), Overflow);
  EXPECT_THROW(checked_sub(INT64_MIN, 1), Overflow);
  EXPECT_THROW(checked_mul(INT64_MAX, 2), Overflow);
  EXPECT_EQ(with_negative(-INT64_MAX), -INT64_MAX);
  EXPECT_THROW(with_negative(INT64_MIN), Overflow);
  try {
    checked_mul(INT64_MIN, -1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
  }
}

TEST(Integer, ExactIsCheckedOnEitherSide) {
  const Exact large = INT64_MAX;
  EXPECT_EQ(Exact(3) * 4 - 2, 10);
  EXPECT_EQ(5 - Exact(7), -2);
  EXPECT_THROW(large + 1, Overflow);
  EXPECT_THROW(1 + large, Overflow);
  EXPECT_THROW(large * large, Overflow);
  EXPECT_THROW(-Exact(INT64_MIN), Overflow);
  Exact product = 1 << 20;
  product *= 1 << 20;
  product *= 1 << 20;
  EXPECT_EQ(product, int64_t{1} << 60);
  EXPECT_THROW(product *= 8, Overflow);
  EXPECT_EQ(product, int64_t{1} << 60) << "what overflows changes nothing";
}

TEST(Integer, QuotientsThatDoNotFitThrow) {
  EXPECT_THROW(floor_div(INT64_MIN, -1), Overflow);
  EXPECT_THROW(ceil_div(INT64_MIN, -1), Overflow);
  EXPECT_EQ(floor_div(INT64_MIN, 1), INT64_MIN);
}

TEST(Integer, CountableShapesHaveCountableParts) {
  const int64_t half = int64_t{1} << 40;
  EXPECT_TRUE(is_countable(std::vector<int64_t>{}));
  EXPECT_TRUE(is_countable(std::vector<int64_t>{0, half}));
  EXPECT_FALSE(is_countable(std::vector<int64_t>{half, half}));
  EXPECT_FALSE(is_countable(std::vector<int64_t>{half, half, 0})) << "its strides do not fit";
  EXPECT_TRUE(is_countable(std::vector<int64_t>{INT64_MAX}));
  EXPECT_FALSE(is_countable(std::vector<int64_t>{INT64_MAX}, 4));
}

}  // namespace
}  // namespace adjit::expr
