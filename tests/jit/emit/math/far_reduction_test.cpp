// tests/jit/emit/math/far_reduction_test.cpp -- circular functions of large arguments without a
// library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/math/without_library.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using FarReduction = WithoutLibrary;

/// Large numbers of every exponent, and those nearest to multiples of pi / 2 of all doubles, of
/// which the first is nearest of all (Muller et al., Handbook of Floating-Point Arithmetic, 2018).
template <class T>
std::vector<T> large_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = special_values<T>();
  std::mt19937_64 random(41);
  std::uniform_real_distribution<double> mantissa(1, 2);
  for (int exponent = 14; exponent < Limits::max_exponent; ++exponent)
    for (int k = 0; k < 40; ++k) {
      const T number = std::ldexp(static_cast<T>(mantissa(random)), exponent);
      x.push_back(k % 2 ? number : -number);
    }
  for (int k = 0; k < 60; ++k)
    x.push_back(static_cast<T>(std::ldexp(6381956970095103.0, k % 2 ? 797 : k)));
  x.push_back(Limits::max());
  x.push_back(-Limits::max());
  return x;
}

template <class T>
void expect_within(VectorMath::Unary formula, long double (*exact)(long double), double bound) {
  const std::vector<T> x = large_numbers<T>();
  for (unsigned lanes : {0u, 4u}) {
    const std::vector<T> y = computed(formula, x, false, lanes);
    for (size_t k = 0; k < x.size(); ++k)
      ASSERT_LE(ulps(y[k], exact(static_cast<long double>(x[k]))), bound)
          << std::hexfloat << x[k] << " gives " << y[k];
  }
}

TEST_F(FarReduction, CircularFunctionsOfEveryFiniteNumber) {
  expect_within<double>(emit::elementary::sin, ::sinl, 1.0);
  expect_within<double>(emit::elementary::cos, ::cosl, 1.0);
  expect_within<double>(emit::elementary::tan, ::tanl, 2.5);
  expect_within<float>(emit::elementary::sin, ::sinl, 1.6);
  expect_within<float>(emit::elementary::cos, ::cosl, 1.6);
  expect_within<float>(emit::elementary::tan, ::tanl, 3.0);
}

}  // namespace
}  // namespace adjit::testing
