#include "runtime/expr/affine.hpp"

#include <gtest/gtest.h>

namespace adjit::expr {
namespace {

TEST(Affine, TrailingZerosDoNotCount) {
  Affine a = Affine::variable(3, 2);
  a += Affine::variable(3, -2);
  EXPECT_EQ(a, Affine());
  EXPECT_EQ(a.size(), 0u);
  EXPECT_TRUE(a.is_constant());
}

TEST(Affine, SumsAndScales) {
  const Affine i = Affine::variable(0), j = Affine::variable(1);
  const Affine form = 2 * i - j * 3 + Affine(4);
  EXPECT_EQ(form.coefficient(0), 2);
  EXPECT_EQ(form.coefficient(1), -3);
  EXPECT_EQ(form.coefficient(7), 0);
  EXPECT_EQ(form.constant(), 4);
  const int64_t point[] = {5, 2};
  EXPECT_EQ(evaluate(form, point), 8);
  EXPECT_EQ(evaluate(-form, point), -8);
}

TEST(Affine, GcdLeavesOutTheConstant) {
  EXPECT_EQ(gcd_of_coefficients(Affine::variable(0, 6) + Affine::variable(2, -4) + Affine(1)), 2);
  EXPECT_EQ(gcd_of_coefficients(Affine(5)), 0);
}

TEST(Affine, SubstitutionReplacesLeadingVariables) {
  const Affine form = Affine::variable(0, 2) + Affine::variable(1);
  const Affine replacement[] = {Affine::variable(1) + Affine(3)};
  EXPECT_EQ(substitute(form, replacement), Affine::variable(1, 3, 6));
}

TEST(Affine, PrintsWithNames) {
  const std::string names[] = {"a", "b"};
  EXPECT_EQ(to_string(Affine::variable(0, 2) + Affine::variable(1) + Affine(-3), names),
            "2*a + b - 3");
  EXPECT_EQ(to_string(Affine::variable(0, -1), names), "-a");
  EXPECT_EQ(to_string(Affine(), names), "0");
}

TEST(Affine, OverflowIsAnError) {
  EXPECT_THROW(Affine::variable(0, INT64_MAX) * 2, Overflow);
  EXPECT_THROW(Affine(INT64_MAX) + Affine(1), Overflow);
  const int64_t point[] = {INT64_MAX};
  EXPECT_THROW(evaluate(Affine::variable(0, 2), point), Overflow);
}

TEST(Affine, HasASignWhereItsValueHasMoreThan64Bits) {
  Affine form = Affine::variable(0, INT64_MAX) + Affine::variable(1, -INT64_MAX);
  form += int64_t{5};
  const std::vector<std::vector<int64_t>> points{{7, 3}, {3, 7}, {9, 9}};
  EXPECT_THROW(evaluate(form, points[0]), Overflow);
  EXPECT_EQ(sign_at(form, points[0]), 1);
  EXPECT_EQ(sign_at(form, points[1]), -1);
  EXPECT_EQ(sign_at(form, points[2]), 1);
  form += int64_t{-5};
  EXPECT_EQ(sign_at(form, points[2]), 0);
}

}  // namespace
}  // namespace adjit::expr
