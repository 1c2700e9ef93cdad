// tests/jit/emit/math/function_samples.hpp -- arguments of functions of floats, and how far a
// result is off.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/rooms.hpp"

namespace adjit::testing {

/// Error in units in the last place of the exact value; infinite where NaN, infinity or the sign of
/// a zero differ.
template <class T, class W>
double ulps(T got, W exact) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : wrong;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    // Rounded to infinity on one side and to the largest number on the other.
    const T largest = std::numeric_limits<T>::max();
    return std::fabs(std::isinf(got) ? rounded : got) == largest ? 1 : wrong;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : wrong;
  const T size = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  int exponent = 0;
  std::frexp(size, &exponent);
  const W unit = std::ldexp(W{1}, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs((static_cast<W>(got) - exact) / unit));
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0),
              L::denorm_min(),
              T(L::min() - L::denorm_min()),
              L::min(),
              L::epsilon(),
              T(0.5),
              T(1),
              T(1 - L::epsilon() / 2),
              T(1 + L::epsilon()),
              T(1.5),
              T(2),
              T(2.5),
              T(3.5),
              T(88.72284),
              T(709.782712893384),
              T(1e9),
              T(2147483647),
              L::max(),
              L::infinity(),
              L::quiet_NaN()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return values;
}

/// Two operands: all pairs of special values and random ones.
template <class T>
struct Pairs {
  std::vector<T> x, y;
  explicit Pairs(double scale) {
    for (T a : special_values<T>()) {
      for (T b : special_values<T>()) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int k = 0; k < 40000; ++k) {
      x.push_back(static_cast<T>(uniform(random) * scale));
      y.push_back(
          static_cast<T>(k % 3 ? uniform(random) * scale : std::floor(uniform(random) * scale)));
    }
  }
};

}  // namespace adjit::testing
