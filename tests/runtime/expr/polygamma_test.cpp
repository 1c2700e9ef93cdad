// tests/runtime/expr/polygamma_test.cpp -- against closed forms, recurrences and reflection.
#include "runtime/expr/polygamma.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace adjit::expr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;
constexpr double kZeta3 = 1.2020569031595942854;

void expect_close(double got, double wanted) {
  EXPECT_NEAR(got, wanted, 4e-15 * std::fabs(wanted));
}

TEST(Polygamma, ClosedForms) {
  expect_close(polygamma(0, 1), -std::numbers::egamma);
  expect_close(polygamma(1, 1), kPi * kPi / 6);
  expect_close(polygamma(1, 0.5), kPi * kPi / 2);
  expect_close(polygamma(2, 1), -2 * kZeta3);
  expect_close(polygamma(2, 0.5), -14 * kZeta3);
  expect_close(polygamma(3, 0.5), std::pow(kPi, 4));
  expect_close(polygamma(5, 1), 8 * std::pow(kPi, 6) / 63);
  expect_close(polygamma(1, -0.5), kPi * kPi / 2 + 4);
}

// Between two poles derivatives of even order have a zero, those of high order so near to the
// middle that the value there is a number by itself. By the sum, with 400 digits.
TEST(Polygamma, MiddlesBetweenPoles) {
  expect_close(polygamma(2, -0.5), -0.8287966442343199956);
  expect_close(polygamma(2, -2.5), -0.108204051641727403);
  expect_close(polygamma(3, -7.75), 1558.5419205916065598);
  expect_close(polygamma(4, -3.5), -0.022300753478290832644);
  expect_close(polygamma(10, -1.5), -156.22959659323299476);
  expect_close(polygamma(51, -0.5), 1.3971235678624886309e+82);
  expect_close(polygamma(100, -0.5), -1.530334926217600409e+140);
  expect_close(polygamma(100, -2.5), -1.0450358166692752617e+103);
  expect_close(polygamma(100, -0.75), -5.9987778449433916243e+218);
  expect_close(polygamma(170, -0.5), -5.6127628949062966701e+276);
  expect_close(polygamma(170, -6.5), -1.6799871313946691825e+157);
  EXPECT_EQ(polygamma(169, -1.25), kInfinity);
}

TEST(Polygamma, Recurrence) {
  for (int n : {0, 1, 2, 3, 7, 20})
    for (double x : {-7.75, -0.5, 0.25, 1.5, 3.0, 40.0}) {
      const double step = (n % 2 == 0 ? 1 : -1) * std::tgamma(n + 1) * std::pow(x, -n - 1);
      EXPECT_NEAR(polygamma(n, x + 1) - polygamma(n, x), step,
                  1e-13 * (std::fabs(step) + std::fabs(polygamma(n, x))))
          << n << " at " << x;
    }
}

TEST(Polygamma, IsTheDerivativeOfTheOrderBelow) {
  for (int n : {1, 2, 3, 4})
    for (double x : {-2.6, -0.3, 0.4, 2.0, 17.0}) {
      const double h = 1e-5;
      const double slope = (polygamma(n - 1, x + h) - polygamma(n - 1, x - h)) / (2 * h);
      EXPECT_NEAR(polygamma(n, x), slope, 1e-5 * std::fabs(slope)) << n << " at " << x;
    }
}

TEST(Polygamma, PolesAndWhatIsNoOrder) {
  EXPECT_EQ(polygamma(1, 0.0), kInfinity);
  EXPECT_EQ(polygamma(1, -3), kInfinity);
  EXPECT_EQ(polygamma(0, 0.0), -kInfinity);
  EXPECT_EQ(polygamma(2, -0.0), kInfinity);
  EXPECT_TRUE(std::isnan(polygamma(2, -3)));
  EXPECT_EQ(polygamma(1, kInfinity), 0);
  EXPECT_EQ(polygamma(0, kInfinity), kInfinity);
  for (double order : {-1.0, 0.5, 171.0, std::nan("")})
    EXPECT_TRUE(std::isnan(polygamma(order, 2)));
  for (double x : {-kInfinity, std::nan("")}) EXPECT_TRUE(std::isnan(polygamma(1, x)));
}

}  // namespace
}  // namespace adjit::expr
