#include "runtime/expr/floor_form.hpp"

#include <gtest/gtest.h>

#include <random>

namespace adjit::expr {
namespace {

struct Bounds {
  int64_t lo, hi;
};

// Of forms over variables in [0, extent).
struct Box {
  std::vector<int64_t> extents;
  Bounds operator()(const Affine& form) const {
    Bounds b{form.constant(), form.constant()};
    for (size_t k = 0; k < form.size(); ++k)
      (form.coefficient(k) < 0 ? b.lo : b.hi) += form.coefficient(k) * (extents[k] - 1);
    return b;
  }
};

Affine form(std::vector<int64_t> coefficients, int64_t constant = 0) {
  Affine made(constant);
  for (size_t k = 0; k < coefficients.size(); ++k) made.set_coefficient(k, coefficients[k]);
  return made;
}

TEST(FloorForm, MultiplesLeaveTheDivision) {
  const FloorForm f = floor_form(form({8, 1}, 9), 4, Box{{100, 100}});
  EXPECT_EQ(f.whole, form({2}, 2));
  EXPECT_EQ(f.rest, form({0, 1}, 1));
  EXPECT_EQ(f.divisor, 4);
}

// Beside a huge divisor -2 would be a number whose multiples leave 64 bits.
TEST(FloorForm, HugeDivisorsLeaveSmallRemainders) {
  const int64_t huge = 3074457345618258605;
  const FloorForm f = floor_form(form({-2, huge + 5}, 3), huge, Box{{3, 2}});
  EXPECT_EQ(f.whole, form({0, 1}));
  EXPECT_EQ(f.rest, form({-2, 5}, 3));
  EXPECT_EQ(floor_form(form({9}, -2), INT64_MAX, Box{{9}}).rest, form({9}, -2));
  for (int64_t divisor : {huge, kHugeDivisor, kHugeDivisor + 1, kHugeDivisor - 1})
    for (int64_t c : {-3L, 7L, divisor - 1, divisor / 2, divisor / 2 + 1})
      for (int64_t constant : {-5L, 0L, 4L}) {
        const FloorForm one = floor_form(form({c}, constant), divisor, Box{{2}});
        for (int64_t point : {0, 1}) {
          const int64_t at[] = {point};
          EXPECT_EQ(evaluate(one.whole, at) + floor_div(evaluate(one.rest, at), one.divisor),
                    floor_div(c * point + constant, divisor))
              << c << " " << constant << " " << divisor;
        }
      }
}

TEST(FloorForm, WhatStaysBelowTheDivisorVanishes) {
  const FloorForm f = floor_form(form({8, 1}, 3), 4, Box{{100, 1}});
  EXPECT_EQ(f.whole, form({2}));
  EXPECT_EQ(f.rest, Affine());
}

TEST(FloorForm, WhatStaysBelowAFactorVanishes) {
  const FloorForm f = floor_form(form({3136, 56, 1}), 25088, Box{{64, 56, 56}});
  EXPECT_EQ(f.whole, Affine());
  EXPECT_EQ(f.rest, form({1}));
  EXPECT_EQ(f.divisor, 8);
  // One more column, and it does not stay below.
  const FloorForm wide = floor_form(form({3136, 56, 1}), 25088, Box{{64, 56, 57}});
  EXPECT_EQ(wide.rest, form({3136, 56, 1}));
}

TEST(FloorForm, AFactorOfAllIsDivided) {
  const FloorForm f = floor_form(form({4, 8}, 5), 12, Box{{50, 50}});
  EXPECT_EQ(f.rest, form({1, 2}, 1));
  EXPECT_EQ(f.divisor, 3);
  const FloorForm two = floor_form(form({4, 6}), 12, Box{{100, 100}});  // neither 4 nor 6 is
  EXPECT_EQ(two.rest, form({2, 3}));
  EXPECT_EQ(two.divisor, 6);
}

TEST(FloorForm, NegativeTermsAreAWholeLess) {
  const FloorForm f = floor_form(form({6, -1}), 12, Box{{9, 5}});
  EXPECT_EQ(f.whole, form({0, -1}));
  EXPECT_EQ(f.rest, form({6, 11}));
  EXPECT_EQ(f.divisor, 12);
}

// Random forms against the quotient at every point of their box.
TEST(FloorForm, MeansTheQuotientEverywhere) {
  std::mt19937_64 random(7);
  const auto between = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  int reduced = 0;
  for (int round = 0; round < 3000; ++round) {
    Box box;
    Affine numerator(between(-20, 20));
    const int64_t base = between(1, 4);
    const int64_t divisor = base * between(1, 12);
    for (size_t k = 0; k < 3; ++k) {
      box.extents.push_back(between(1, 6));
      numerator.set_coefficient(k, between(-3, 6) * (between(0, 1) ? base : 1));
    }
    const FloorForm f = floor_form(numerator, divisor, box);
    reduced += f.divisor != divisor;
    if (!f.rest.is_constant()) {
      EXPECT_EQ(std::gcd(gcd_of_coefficients(f.rest), f.divisor), 1);
    }
    for (size_t k = 0; k < f.rest.size(); ++k) {
      EXPECT_GE(f.rest.coefficient(k), 0);
      EXPECT_LT(f.rest.coefficient(k), f.divisor);
    }
    std::vector<int64_t> p(3);
    for (p[0] = 0; p[0] < box.extents[0]; ++p[0])
      for (p[1] = 0; p[1] < box.extents[1]; ++p[1])
        for (p[2] = 0; p[2] < box.extents[2]; ++p[2])
          ASSERT_EQ(evaluate(f.whole, p) + floor_div(evaluate(f.rest, p), f.divisor),
                    floor_div(evaluate(numerator, p), divisor));
  }
  EXPECT_GT(reduced, 100);
}

}  // namespace
}  // namespace adjit::expr
