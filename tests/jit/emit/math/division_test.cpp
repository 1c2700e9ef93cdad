// tests/jit/emit/math/division_test.cpp -- divisors made ready against divisions, bit by bit.
#include "jit/emit/math/vector_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;

/// x[0] over x[1], or over a constant, by a divisor that was made ready.
Emit by_a_ready_divisor(std::optional<double> constant = {}) {
  return [=](llvm::IRBuilder<>&, VectorMath& math, std::span<Value*> x) {
    Value* d = constant ? llvm::ConstantFP::get(x[0]->getType(), *constant) : x[1];
    return math.divided(x[0], math.divisor(d));
  };
}

template <class T>
void expect_quotients(const CompiledFunction& f, const std::vector<T>& x, const std::vector<T>& d) {
  // What is lost of a remainder below the smallest number cannot correct the quotient.
  const T small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() * 8;
  const std::vector<T> got = f.map2<T>(x, d);
  size_t exact = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const T wanted = x[k] / d[k];
    const bool may_differ = std::fabs(wanted) < small ||
                            std::fabs(x[k]) < small * std::fabs(d[k]) || std::fabs(x[k]) < small ||
                            std::isinf(got[k]);
    const double error = ulps(got[k], static_cast<long double>(x[k]) / d[k]);
    ASSERT_LE(error, may_differ ? 1.5 : 0.5) << x[k] << " / " << d[k] << " = " << got[k];
    exact += !may_differ;
    if (may_differ) continue;
    ASSERT_TRUE(wanted == got[k] || std::isnan(wanted)) << x[k] << " / " << d[k];
    ASSERT_TRUE(std::isnan(wanted) || std::signbit(wanted) == std::signbit(got[k])) << x[k];
  }
  EXPECT_GT(exact, x.size() / 3);
}

template <class T>
void expect_ready_divisions() {
  const auto compiled = [](std::optional<double> constant = {}) {
    return CompiledFunction(element_of<T>(), element_of<T>(), 2, by_a_ready_divisor(constant),
                            {.lanes = 64 / sizeof(T)});
  };
  const CompiledFunction by_any = compiled();
  Pairs<T> pairs(100.0);
  std::mt19937_64 random(5);
  for (int k = 0; k < 400'000; ++k) {  // of all exponents, of few bits, and nearly equal
    const auto any = [&] {
      return k % 2 ? std::ldexp(static_cast<T>(1 + static_cast<double>(random() >> 12) * 0x1p-52),
                                static_cast<int>(random() % 160) - 80)
                   : static_cast<T>(random() % 4096);
    };
    pairs.x.push_back(any());
    pairs.y.push_back(k % 5 ? -any() : pairs.x.back() * static_cast<T>(1 + k % 7 * 1e-7));
  }
  expect_quotients(by_any, pairs.x, pairs.y);
  for (const double constant : {3.0, -3.0, 49.0, 1e-30, 0x1p-70, 96.0, 1.0 / 3}) {
    const std::vector<T> d(pairs.x.size(), static_cast<T>(constant));
    expect_quotients(compiled(constant), pairs.x, d);
  }
}

TEST(Division, ReadyDivisorsGiveTheBitsOfADivision) {
  if (!from_feature_string(cpu_target("").features).fma) GTEST_SKIP() << "needs FMA";
  expect_ready_divisions<float>();
  expect_ready_divisions<double>();
}

}  // namespace
}  // namespace adjit::testing
