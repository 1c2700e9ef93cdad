// tests/runtime/expr/floored_division_test.cpp -- floored division against integers, and its ends.
#include "runtime/expr/floored_division.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/expr/integer.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(FlooredDivision, OfIntegersIsTheirs) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 20'000; ++k) {
    const int64_t a = static_cast<int64_t>(random() >> 11) * (k % 2 ? 1 : -1);
    const int64_t b = (static_cast<int64_t>(random() >> (12 + k % 50)) + 1) * (k % 3 ? 1 : -1);
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    ASSERT_EQ(floored_rest(x, y), static_cast<double>(floor_mod(a, b))) << a << " " << b;
    ASSERT_EQ(floored_quotient(x, y), static_cast<double>(floor_div(a, b))) << a << " " << b;
  }
}

TEST(FlooredDivision, LargeQuotientsLeaveARestInsideTheDivisor) {
  EXPECT_EQ(floored_rest(1e17, 3.0), 1);  // 10^17 = 1 modulo 3
  EXPECT_EQ(floored_rest(-1e17, 3.0), 2);
  EXPECT_EQ(floored_rest(1e17, -3.0), -2);
  EXPECT_EQ(floored_rest(33554432.0F, 3.0F), 2);  // 2^25
  EXPECT_EQ(floored_quotient(1e300, 1e-300), kInf);
}

TEST(FlooredDivision, RoundsOnceWhereTheRestIsNoNumber) {
  EXPECT_EQ(floored_rest(-1e-20, 1.0), 1);
  EXPECT_EQ(floored_quotient(-1e-20, 1.0), -1);
}

// 1 - 2^-53 times 3, rounded, and over 3, rounded, is 1: the floor of what is below 1 is 0.
TEST(FlooredDivision, AQuotientThatIsRoundedUpToAnIntegerIsOneLess) {
  const double b = 0x1.8p0, a = std::nextafter(b * 0x1p40, 0.0);
  EXPECT_EQ(a / b, 0x1p40 - 0x1p-13);
  const double c = 0.1, many = 0.3;  // 0.3 is less than three times 0.1 (rounded up)
  EXPECT_EQ(floored_quotient(many, c), 2);
  EXPECT_EQ(floored_rest(many, c), many - 2 * c);
}

TEST(FlooredDivision, ZerosHaveTheDivisorsSign) {
  EXPECT_FALSE(std::signbit(floored_rest(-0.0, 2.0)));
  EXPECT_TRUE(std::signbit(floored_rest(4.0, -2.0)));
  EXPECT_TRUE(std::signbit(floored_quotient(-0.0, 2.0)));
}

TEST(FlooredDivision, InfinitiesAndZeros) {
  EXPECT_EQ(floored_rest(1.0, kInf), 1);
  EXPECT_EQ(floored_rest(-1.0, kInf), kInf);
  EXPECT_EQ(floored_quotient(-1.0, kInf), -1);
  EXPECT_EQ(floored_quotient(1.0, kInf), 0);
  EXPECT_TRUE(std::isnan(floored_rest(kInf, 1.0)));
  EXPECT_TRUE(std::isnan(floored_rest(1.0, 0.0)));
  EXPECT_TRUE(std::isnan(floored_quotient(kInf, 1.0)));
  EXPECT_EQ(floored_quotient(1.0, 0.0), kInf);
  EXPECT_EQ(floored_quotient(kInf, 0.0), kInf);
  EXPECT_TRUE(std::isnan(floored_quotient(0.0, 0.0)));
}

}  // namespace
}  // namespace adjit::testing
