// tests/jit/emit/math/exponentials_test.cpp -- e^x and its kin, and the pieces that others use.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

template <class T>
T sigmoid(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

const UnaryFunction kExponentials[] = {
    {ADJIT_C_FUNCTION(exp), 1.0, 1.0, -700, 700},
    {ADJIT_C_FUNCTION(exp2), 1.0, 1.0, -1000, 1000},
    {ADJIT_C_FUNCTION(expm1), 1.5, 1.8, -40, 40},
    {"sigmoid", emit::elementary::sigmoid, sigmoid<double>, sigmoid<long double>, 2.5, 1.5, -700,
     40},
};
INSTANTIATE_TEST_SUITE_P(Exponentials, UnaryFunctions, ::testing::ValuesIn(kExponentials),
                         name_of_function);

const char* const kScalingTargets[] = {"native", "x86-64-v3", "x86-64-v2"};

// 2^k of every result that is a number, subnormal ones too: nothing but the scaling rounds.
TEST(Exponentials, PowersOfIntegersAreExact) {
  const Formula power = [](Floats x, Floats) { return emit::elementary::exp2(x); };
  std::vector<float> narrow;
  for (int k = -149; k < 128; ++k) narrow.push_back(static_cast<float>(k));
  std::vector<double> wide;
  for (int k = -1074; k < 1024; ++k) wide.push_back(k);
  for (const char* target : kScalingTargets) {
    const auto small = evaluate<float>(power, narrow, narrow, {.target = target});
    for (size_t k = 0; k < narrow.size(); ++k)
      ASSERT_EQ(small[k], std::ldexp(1.0f, static_cast<int>(narrow[k]))) << narrow[k];
    const auto large = evaluate<double>(power, wide, wide, {.lanes = 8, .target = target});
    for (size_t k = 0; k < wide.size(); ++k)
      ASSERT_EQ(large[k], std::ldexp(1.0, static_cast<int>(wide[k]))) << wide[k];
  }
}

template <class T>
void expect_scaled_with_one_rounding(int most) {
  const Formula scaled = [](Floats p, Floats n) { return emit::elementary::scale(p, n); };
  std::vector<T> p, n;
  for (int k = -most; k <= most; ++k)
    for (double factor : {1.0, -1.0, 1.3, 1.9999999}) {
      p.push_back(static_cast<T>(factor));
      n.push_back(static_cast<T>(k));
    }
  for (const char* target : kScalingTargets)
    for (unsigned lanes : {0u, 2u, 4u, 8u, 16u}) {
      const std::vector<T> got = evaluate<T>(scaled, p, n, {.lanes = lanes, .target = target});
      for (size_t k = 0; k < p.size(); ++k)
        ASSERT_EQ(got[k], std::ldexp(p[k], static_cast<int>(n[k])))
            << p[k] << " * 2^" << n[k] << ", " << lanes << " lanes on " << target;
    }
}

// With and without the instruction for it, from underflow to overflow.
TEST(Exponentials, ScalingRoundsOnceAsTheCLibraryDoes) {
  expect_scaled_with_one_rounding<float>(150);
  expect_scaled_with_one_rounding<double>(1100);
}

TEST(Exponentials, NearestIntegerRoundsHalfToEvenAndHasItInItsBits) {
  std::vector<double> x;
  for (int k = -4000; k <= 4000; ++k) x.push_back(k * 0.125);
  const auto value = evaluate<double>(
      [](Floats a, Floats) { return emit::elementary::nearest_integer(a, 2).value; }, x, x);
  const auto bits = evaluate<double>(
      [](Floats a, Floats) {
        return (emit::elementary::nearest_integer(a, 2).bits << 52).as_floats();
      },
      x, x);
  for (size_t k = 0; k < x.size(); ++k) {
    const double expected = std::nearbyint(2 * x[k]);
    ASSERT_EQ(value[k], expected) << x[k];
    ASSERT_EQ(std::bit_cast<uint64_t>(bits[k]) >> 52,
              static_cast<uint64_t>(static_cast<int64_t>(expected)) & 0xfff)
        << x[k];
  }
}

// Where e^high alone would overflow, and where the low part makes a difference of two units.
TEST(Exponentials, TheFactorComesInBeforeTheResultCanOverflow) {
  const Formula small = [](Floats high, Floats low) {
    return emit::elementary::exp_times({high, low}, high.constant(0x1p-60));
  };
  std::vector<double> high, low;
  for (int k = 0; k < 400; ++k) {
    high.push_back(711 + k * 0.1);
    low.push_back(high.back() * (k % 2 ? 0x1p-53 : -0x1p-54));
  }
  const std::vector<double> got = evaluate<double>(small, high, low, {.lanes = 8});
  for (size_t k = 0; k < high.size(); ++k) {
    const long double exact = std::exp(1.0L * high[k] + low[k]) * 0x1p-60L;
    ASSERT_LE(ulps(got[k], exact), 1.2) << high[k];
  }
}

}  // namespace
}  // namespace adjit::testing
