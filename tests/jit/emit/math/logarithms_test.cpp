// tests/jit/emit/math/logarithms_test.cpp -- logarithms and powers.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

const UnaryFunction kLogarithms[] = {
    {ADJIT_C_FUNCTION(log), 1.0, 1.0, 0, 4},
    {ADJIT_C_FUNCTION(log2), 1.5, 1.0, 0, 4},
    {ADJIT_C_FUNCTION(log10), 1.0, 1.0, 0, 4},
    {ADJIT_C_FUNCTION(log1p), 1.6, 1.5, -1, 4},
};
INSTANTIATE_TEST_SUITE_P(Logarithms, UnaryFunctions, ::testing::ValuesIn(kLogarithms),
                         name_of_function);

template <class T>
void expect_exact_exponents(int least, int most) {
  std::vector<T> x;
  for (int k = least; k <= most; ++k) x.push_back(std::ldexp(T(1), k));
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    const std::vector<T> got = evaluate<T>(
        [](Floats a, Floats) { return emit::elementary::log2(a); }, x, x, {.target = target});
    for (size_t k = 0; k < x.size(); ++k) ASSERT_EQ(got[k], least + static_cast<int>(k)) << target;
  }
}

TEST(Logarithms, OfPowersOfTwoAreExactSubnormalOnesToo) {
  expect_exact_exponents<float>(-149, 127);
  expect_exact_exponents<double>(-1074, 1023);
}

// log(high + low) + 3 ln 2.
TEST(Logarithms, OfASumWithAMultipleOfLn2AddedAreWithinTheirBound) {
  const Formula formula = [](Floats high, Floats low) {
    return emit::elementary::log_of_sum({high, low}, high.constant(3));
  };
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> high, low;
  for (int k = 0; k < 4000; ++k) {
    high.push_back(1 + uniform(random) * std::exp2(-k % 40) * 0.4);
    low.push_back(uniform(random) * 0x1p-54);
  }
  const std::vector<double> got = evaluate<double>(formula, high, low, {.lanes = 8});
  for (size_t k = 0; k < high.size(); ++k) {
    const long double exact = std::log(1.0L * high[k] + low[k]) + 3 * std::log(2.0L);
    ASSERT_LE(ulps(got[k], exact), 1.0) << high[k] << " + " << low[k];
  }
}

// Beside 1 the logarithm is as small as the low part.
TEST(Logarithms, OfASumBesideOneIsItsDistanceFromOne) {
  const Formula formula = [](Floats high, Floats low) {
    return emit::elementary::log_of_sum({high, low}, high.constant(0));
  };
  std::vector<double> high, low;
  for (int k = 55; k < 200; ++k) {
    high.push_back(1);
    low.push_back(std::ldexp(k % 2 ? 1.0 : -1.0, -k));
  }
  EXPECT_EQ(evaluate<double>(formula, high, low, {.lanes = 8}), low);
}

TEST(Powers, AreWithinTheirBound) {
  for (const char* target : {"native", "x86-64-v2"}) {
    expect_binary_within<float, double>(emit::elementary::pow, ::pow, 0.6, target);
    expect_binary_within<double, long double>(emit::elementary::pow, ::powl, 1.2, target);
  }
}

TEST(Powers, NearOneWithLargeExponentsAreWithinTheirBound) {
  const CompiledFunction f(Element::F64, Element::F64, 2,
                           [](llvm::IRBuilder<>&, VectorMath& m, std::span<llvm::Value*> v) {
                             return m(emit::elementary::pow, v[0], v[1]);
                           });
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x, y;
  for (int k = 0; k < 20000; ++k) {
    x.push_back(1 + uniform(random) * std::exp2(-k % 50));
    y.push_back(uniform(random) * 740 / std::log(x.back()));
  }
  const std::vector<double> got = f.map2<double>(x, y);
  for (size_t k = 0; k < x.size(); ++k)
    ASSERT_LE(ulps(got[k], std::pow(1.0L * x[k], 1.0L * y[k])), 1.2) << x[k] << "^" << y[k];
}

}  // namespace
}  // namespace adjit::testing
