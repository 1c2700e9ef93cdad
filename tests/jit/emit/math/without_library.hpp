// tests/jit/emit/math/without_library.hpp -- functions that the module holds itself, beside the
// library's.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <span>
#include <vector>

#include "tests/jit/cpu/function_points.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Pairs of doubles need fused multiply-adds, which every machine without a library has: a product
/// that is taken apart in their place leaves the range beside its end.
class WithoutLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_target().vector.fma) GTEST_SKIP() << "needs FMA";
  }
};

template <class T>
std::vector<T> computed(VectorMath::Unary formula, const std::vector<T>& x, bool library,
                        unsigned lanes = 0) {
  const CompiledFunction f(element_of<T>(), element_of<T>(), 1,
                           [=](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                             return math(formula, v[0]);
                           },
                           {.lanes = lanes, .library = library});
  return f.map<T>(x);
}

template <class T>
std::vector<T> computed(VectorMath::Binary formula, const std::vector<T>& x,
                        const std::vector<T>& y, bool library, unsigned lanes = 0) {
  const CompiledFunction f(element_of<T>(), element_of<T>(), 2,
                           [=](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                             return math(formula, v[0], v[1]);
                           },
                           {.lanes = lanes, .library = library});
  return f.map2<T>(x, y);
}

/// Special values, and numbers of an interval, of all sizes and beside integers and halves.
template <class T>
std::vector<T> samples_between(double low, double high, int count) {
  std::mt19937_64 random(29);
  std::uniform_real_distribution<double> uniform(low, high), distance(-1, 1);
  std::vector<T> x = special_values<T>();
  for (int k = 0; k < count; ++k) {
    x.push_back(static_cast<T>(uniform(random)));
    x.push_back(std::bit_cast<T>(
        static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(random())));
    x.push_back(static_cast<T>(std::round(2 * uniform(random)) / 2 +
                               std::ldexp(distance(random), -(k % 60))));
  }
  return x;
}

/// As the library's to so many units of its values; zeros, infinities and NaN are the same.
template <class T>
void expect_as_library(VectorMath::Unary formula, const std::vector<T>& x, double units,
                       double absolute = 0) {
  const std::vector<T> own = computed(formula, x, false), right = computed(formula, x, true);
  for (size_t k = 0; k < x.size(); ++k) {
    if (std::fabs(own[k] - right[k]) <= static_cast<T>(absolute)) continue;
    ASSERT_LE(ulps(own[k], static_cast<long double>(right[k])), units)
        << std::hexfloat << x[k] << " gives " << own[k] << ", not " << right[k];
  }
  const std::vector<T> in_lanes = computed(formula, x, false, 4);
  for (size_t k = 0; k < x.size(); ++k)
    ASSERT_TRUE(own[k] == in_lanes[k] || (std::isnan(own[k]) && std::isnan(in_lanes[k]))) << x[k];
}

inline void expect_at_points(VectorMath::Unary formula, const std::vector<Point>& points,
                             double absolute) {
  for (const Point& point : points) {
    const double got = computed<double>(formula, {point.x}, false)[0];
    const double unit = std::nextafter(std::fabs(point.value), 1e308) - std::fabs(point.value);
    EXPECT_NEAR(got, point.value, unit + absolute) << point.x;
  }
}

inline void expect_at_hard_points(VectorMath::Unary formula, const std::vector<HardPoint>& points,
                                  double units, double absolute) {
  std::vector<double> x;
  for (const HardPoint& point : points) x.push_back(point.x);
  const std::vector<double> got = computed(formula, x, false);
  for (size_t k = 0; k < points.size(); ++k) {
    int exponent = 0;
    std::frexp(points[k].value, &exponent);
    EXPECT_LE(std::fabs((got[k] - points[k].value) - points[k].rest),
              units * std::ldexp(1.0, exponent - 53) + absolute)
        << std::hexfloat << x[k] << " gives " << got[k] << ", not " << points[k].value;
  }
}

}  // namespace adjit::testing
