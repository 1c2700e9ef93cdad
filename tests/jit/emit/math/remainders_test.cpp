// tests/jit/emit/math/remainders_test.cpp -- whole quotients and rests, compiled, against the exact
// ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jit/cpu/float_mode.hpp"
#include "jit/emit/math/elementary.hpp"
#include "runtime/expr/floored_division.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Binary = VectorMath::Binary;
const std::string kTargets[] = {"native", "x86-64-v3", "x86-64-v2"};

template <class T>
CompiledFunction compiled_binary(Binary function, const std::string& target, size_t lanes,
                                 bool library = true) {
  return {element_of<T>(),
          element_of<T>(),
          2,
          [=](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
            return math(function, v[0], v[1]);
          },
          {.lanes = static_cast<unsigned>(lanes), .target = target, .library = library}};
}

/// Quotients of all sizes, those beside integers among them, over the whole range of numbers.
template <class T>
struct Operands {
  std::vector<T> x, y;
  Operands() {
    using Limits = std::numeric_limits<T>;
    const Pairs<T> usual(100.0);
    x = usual.x;
    y = usual.y;
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> unit(1, 2), exponent(Limits::min_exponent, 0),
        quotient(-3, Limits::digits + 40);
    for (int k = 0; k < 60'000; ++k) {
      const int scale = static_cast<int>(exponent(random) * (k % 3 ? 0.2 : 1));
      const T divisor = std::ldexp(static_cast<T>(unit(random)), scale);
      T numerator = divisor * static_cast<T>(std::exp2(quotient(random)));
      if (k % 2) numerator = divisor * std::nearbyint(numerator / divisor);
      if (k % 5 == 0) numerator = std::nextafter(numerator, T{0});
      x.push_back(k % 4 < 2 ? numerator : -numerator);
      y.push_back(k % 8 < 4 ? divisor : -divisor);
    }
  }
};

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& x, const std::vector<T>& y,
                 T (*right)(T, T), const std::string& where) {
  for (size_t k = 0; k < x.size(); ++k) {
    const T exact = right(x[k], y[k]);
    if (std::isnan(exact) && std::isnan(got[k])) continue;
    ASSERT_TRUE(got[k] == exact && std::signbit(got[k]) == std::signbit(exact))
        << where << " of " << std::hexfloat << x[k] << " and " << y[k] << " is " << got[k]
        << ", not " << exact;
  }
}

template <class T>
T truncated_rest(T a, T b) {
  return std::fmod(a, b);
}

template <class T>
void expect_exact(const std::string& type) {
  const Operands<T> operands;
  for (const std::string& target : kTargets)
    for (size_t lanes : {size_t{0}, size_t{32} / sizeof(T)}) {
      const auto check = [&](Binary function, T (*right)(T, T), const char* name) {
        const auto got =
            compiled_binary<T>(function, target, lanes).template map2<T>(operands.x, operands.y);
        expect_same<T>(got, operands.x, operands.y, right,
                       name + (" of " + type + " on ") + target);
      };
      check(emit::elementary::floor_mod, floored_rest<T>, "remainder");
      check(emit::elementary::floor_div, floored_quotient<T>, "floor_divide");
      check(emit::elementary::fmod, truncated_rest<T>, "fmod");
    }
}

TEST(Remainders, FloatsAreExact) { expect_exact<float>("float"); }
TEST(Remainders, DoublesAreExact) { expect_exact<double>("double"); }

// Quotients that no number of the type holds, of all exponents; subnormal numbers among them.
template <class T>
Operands<T> with_far_quotients() {
  using Limits = std::numeric_limits<T>;
  Operands<T> operands;
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> unit(1, 2);
  constexpr int kLowest = Limits::min_exponent - Limits::digits;
  std::uniform_int_distribution<int> low(kLowest, 0), high(0, Limits::max_exponent - 1);
  for (int k = 0; k < 20'000; ++k) {
    const T x = std::ldexp(static_cast<T>(unit(random)), high(random)),
            y = std::ldexp(static_cast<T>(unit(random)), low(random));
    operands.x.push_back(k % 2 ? x : -x);
    operands.y.push_back(k % 4 < 2 ? y : -y);
  }
  return operands;
}

template <class T>
void expect_exact_without_library(FloatMode mode) {
  const Operands<T> operands = with_far_quotients<T>();
  for (size_t lanes : {size_t{0}, size_t{32} / sizeof(T)}) {
    const auto check = [&](Binary function, T (*right)(T, T), const char* name) {
      const auto compiled = compiled_binary<T>(function, "native", lanes, false);
      const auto with_library = compiled_binary<T>(function, "native", lanes);
      std::vector<T> got, library;
      {
        const FloatModeScope scope(mode);
        got = compiled.template map2<T>(operands.x, operands.y);
        library = with_library.template map2<T>(operands.x, operands.y);
      }
      if (mode == FloatMode::KeepSubnormals)
        expect_same<T>(got, operands.x, operands.y, right, name);
      for (size_t k = 0; k < got.size(); ++k)
        ASSERT_TRUE((got[k] == library[k] && std::signbit(got[k]) == std::signbit(library[k])) ||
                    (std::isnan(got[k]) && std::isnan(library[k])))
            << name << std::hexfloat << " of " << operands.x[k] << " and " << operands.y[k]
            << " is " << got[k] << ", in the library " << library[k];
    };
    check(emit::elementary::floor_mod, floored_rest<T>, "remainder");
    check(emit::elementary::fmod, truncated_rest<T>, "fmod");
  }
}

TEST(Remainders, WithoutLibraryAreExact) {
  expect_exact_without_library<float>(FloatMode::KeepSubnormals);
  expect_exact_without_library<double>(FloatMode::KeepSubnormals);
}

// On a GPU float32 flushes and float64 does not.
TEST(Remainders, WithoutLibraryAreTheLibrarysWhereSubnormalFloatsAreZeros) {
  expect_exact_without_library<float>(FloatMode::FlushSubnormals);
}

// A quotient that is flushed to zero has no rest beside the divisor, and no floor of 0.
TEST(Remainders, WhereSubnormalNumbersAreZeros) {
  const std::vector<float> a{-1, -0.5F, 1, 1, -1, 0, -1e-20F},
      b{1e38F, 1e38F, -1e38F, 1e38F, -1e38F, -2, 1e19F};
  for (const std::string& target : kTargets)
    for (const FloatMode mode : {FloatMode::KeepSubnormals, FloatMode::FlushSubnormals}) {
      const auto quotient = compiled_binary<float>(emit::elementary::floor_div, target, 4),
                 rest = compiled_binary<float>(emit::elementary::floor_mod, target, 4);
      std::vector<float> quotients, rests;
      {
        const FloatModeScope scope(mode);
        quotients = quotient.map2<float>(a, b);
        rests = rest.map2<float>(a, b);
      }
      EXPECT_EQ(quotients, (std::vector<float>{-1, -1, -1, 0, 0, 0, -1}));
      EXPECT_EQ(rests, (std::vector<float>{1e38F, 1e38F, -1e38F, 1, -1, 0, 1e19F}));
    }
}

}  // namespace
}  // namespace adjit::testing
