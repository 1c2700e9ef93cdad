// tests/jit/emit/math/vector_math_test.cpp -- what is asked of every function that a test of this
// folder lists.
#include "jit/emit/math/vector_math.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string_view>

#include "jit/cpu/float_mode.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/emulated_function.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/jit/emit/gpu_numbers.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/jit/emit/math/hardest_arguments.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;
using Limits32 = std::numeric_limits<float>;
using Limits64 = std::numeric_limits<double>;

Emit emitted(VectorMath::Unary formula) {
  return [=](llvm::IRBuilder<>&, VectorMath& math, std::span<Value*> x) {
    return math(formula, x[0]);
  };
}

template <class T>
CompiledFunction compiled(VectorMath::Unary formula, const CompileOptions& options = {}) {
  return {element_of<T>(), element_of<T>(), 1, emitted(formula), options};
}

/// All exponents and signs evenly.
std::vector<float> sampled_floats() {
  std::vector<float> samples = special_values<float>();
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 20011)
    samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return samples;
}

/// Besides, close to where functions have zeros, ends and borders between their formulas: 0, 1, -1,
/// multiples of ln 2 / 2, and both ends of the interval, at all distances.
std::vector<double> sampled_doubles(double low, double high) {
  std::mt19937_64 random(20240607);
  std::uniform_real_distribution<double> uniform(low, high), distance(-1, 1);
  std::vector<double> samples = special_values<double>();
  for (int k = 0; k < 40000; ++k) {
    samples.push_back(uniform(random));
    samples.push_back(uniform(random) / 128);
    samples.push_back(std::bit_cast<double>(random()));
    const double half_octaves = std::numbers::ln2 / 2 * std::floor(uniform(random));
    const double places[] = {0, 1, -1, half_octaves, low, high};
    samples.push_back(places[k % 6] + std::ldexp(distance(random), -(k / 6 % 60)));
  }
  return samples;
}

template <class T, class W>
void expect_within(const CompiledFunction& function, const std::vector<T>& x, W (*reference)(W),
                   double bound, const char* name) {
  const std::vector<T> y = function.map<T>(x);
  double worst = -1;
  size_t at = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double error = ulps(y[k], reference(static_cast<W>(x[k])));
    if (error > worst) {
      worst = error;
      at = k;
    }
  }
  EXPECT_LE(worst, bound) << name << "(" << x[at] << ") = " << y[at] << ", not "
                          << reference(static_cast<W>(x[at]));
}

/// Without FMA products are rounded before they are added.
double without_fma(double bound) { return bound == 0 || bound == 0.5 ? bound : bound + 0.9; }

TEST_P(UnaryFunctions, FloatIsWithinItsBound) {
  const UnaryFunction& f = GetParam();
  for (const char* target : {"native", "x86-64-v3"})
    expect_within(compiled<float>(f.formula, {.target = target}), sampled_floats(), f.reference_f32,
                  f.bound_f32, f.name);
  expect_within(compiled<float>(f.formula, {.target = "x86-64-v2"}), sampled_floats(),
                f.reference_f32, without_fma(f.bound_f32), f.name);
}

TEST_P(UnaryFunctions, DoubleIsWithinItsBound) {
  const UnaryFunction& f = GetParam();
  const std::vector<double> x = sampled_doubles(f.low, f.high);
  for (const char* target : {"native", "x86-64-v3"})
    expect_within(compiled<double>(f.formula, {.lanes = 8, .target = target}), x, f.reference_f64,
                  f.bound_f64, f.name);
  expect_within(compiled<double>(f.formula, {.lanes = 8, .target = "x86-64-v2"}), x,
                f.reference_f64, without_fma(f.bound_f64), f.name);
}

/// A thousand neighbours on both sides of each number.
template <class T>
std::vector<T> neighbourhoods(const std::vector<T>& places) {
  std::vector<T> found;
  for (const T place : places) {
    T x = place;
    for (int k = 0; k < 1000; ++k) x = std::nextafter(x, -std::numeric_limits<T>::infinity());
    for (int k = 0; k < 2000; ++k)
      found.push_back(x = std::nextafter(x, std::numeric_limits<T>::infinity()));
  }
  return found;
}

TEST_P(UnaryFunctions, BoundsHoldAtTheHardestArguments) {
  const UnaryFunction& f = GetParam();
  for (const HardestArguments& hardest : kHardestArguments) {
    if (std::string_view(hardest.name) != f.name) continue;
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      const bool fma = target != std::string_view("x86-64-v2");
      const auto bound = [&](double b) { return fma ? b : without_fma(b); };
      expect_within(compiled<float>(f.formula, {.target = target}), neighbourhoods(hardest.narrow),
                    f.reference_f32, bound(f.bound_f32), f.name);
      expect_within(compiled<double>(f.formula, {.lanes = 8, .target = target}),
                    neighbourhoods(hardest.wide), f.reference_f64, bound(f.bound_f64), f.name);
    }
  }
}

template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

// As kernels run: subnormal arguments are zeros, a term below the least normal number may become
// one, and nothing else changes.
template <class T, class W>
void expect_within_without_subnormals(const CompiledFunction& function, const std::vector<T>& x,
                                      W (*reference)(W), double bound, const char* name) {
  std::vector<T> y;
  {
    const FloatModeScope flush(FloatMode::FlushSubnormals);
    y = function.map<T>(x);
  }
  constexpr T kLeast = std::numeric_limits<T>::min();
  for (size_t k = 0; k < x.size(); ++k) {
    const W exact = reference(static_cast<W>(flushed(x[k])));
    if (std::fabs(static_cast<W>(y[k]) - exact) <= kLeast) continue;
    ASSERT_LE(ulps(y[k], exact), bound) << name << "(" << x[k] << ") = " << y[k];
  }
}

TEST_P(UnaryFunctions, WithoutSubnormalNumbers) {
  const UnaryFunction& f = GetParam();
  const std::vector<double> x = sampled_doubles(f.low, f.high);
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    const bool fma = target != std::string_view("x86-64-v2");
    const auto bound = [&](double b) { return fma ? b : without_fma(b); };
    expect_within_without_subnormals(compiled<float>(f.formula, {.target = target}),
                                     sampled_floats(), f.reference_f32, bound(f.bound_f32), f.name);
    expect_within_without_subnormals(compiled<double>(f.formula, {.lanes = 8, .target = target}), x,
                                     f.reference_f64, bound(f.bound_f64), f.name);
  }
}

// A value computed in a tail, in a scalar or in a wider vector is the same value.
template <class T>
void expect_same_bits(const UnaryFunction& f, const std::vector<T>& x) {
  const std::vector<T> expected =
      compiled<T>(f.formula, {.lanes = 0, .level = CodegenLevel::Less}).template map<T>(x);
  for (unsigned lanes : {1u, 2u, 3u, 4u, 8u, 16u, 32u, 64u}) {
    const std::vector<T> got = compiled<T>(f.formula, {.lanes = lanes}).template map<T>(x);
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(expected[k]) && std::isnan(got[k])) continue;
      ASSERT_TRUE(expected[k] == got[k] && std::signbit(expected[k]) == std::signbit(got[k]))
          << f.name << "(" << x[k] << ") = " << expected[k] << ", with " << lanes << " lanes "
          << got[k];
    }
  }
}

TEST_P(UnaryFunctions, NumberOfLanesChangesNoBit) {
  const UnaryFunction& f = GetParam();
  std::vector<float> narrow = special_values<float>();
  std::vector<double> wide = special_values<double>();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(f.low, f.high);
  for (int k = 0; k < 500; ++k) {
    wide.push_back(uniform(random));
    narrow.push_back(static_cast<float>(wide.back()));
  }
  expect_same_bits(f, narrow);
  expect_same_bits(f, wide);
}

template <class T, class W>
void expect_within_on_gpu(VectorMath::Unary formula, const std::vector<T>& x, W (*reference)(W),
                          double bound, const char* name) {
  for (const unsigned lanes : {0u, 4u}) {
    const std::vector<T> y = emulate(emitted(formula), lanes, x);
    const std::string of = std::string(name) + (sizeof(T) == 4 ? " (float32)" : " (float64)");
    for (size_t k = 0; k < x.size(); ++k) {
      const double error = ulps(y[k], reference(static_cast<W>(x[k])));
      note_ulps(of, error, bound);
      ASSERT_LE(error, bound) << name << "(" << x[k] << ") = " << y[k] << " on a GPU, " << lanes
                              << " lanes";
    }
  }
}

// Few points: the formulas are those of a processor with FMA.
TEST_P(UnaryFunctions, OnAGpuItIsWithinItsBounds) {
  if (!kEmulates) GTEST_SKIP() << "no emulator";
  const UnaryFunction& f = GetParam();
  std::vector<float> narrow = sampled_floats();
  std::vector<double> wide = sampled_doubles(f.low, f.high);
  const auto thin_out = [](auto& samples) {
    const size_t special = special_values<float>().size();
    const size_t step = samples.size() / 1000;
    for (size_t k = 0; k < 1000; ++k) samples[special + k] = samples[special + k * (step - 1)];
    samples.resize(special + 1000);
  };
  thin_out(narrow);
  thin_out(wide);
  expect_within_on_gpu(f.formula, narrow, f.reference_f32, f.bound_f32, f.name);
  expect_within_on_gpu(f.formula, wide, f.reference_f64, f.bound_f64, f.name);
}

TEST(VectorMath, FmaRoundsOnceOnEveryTarget) {
  for (const char* target : {"native", "x86-64-v2"}) {
    const CompiledFunction f(Element::F64, Element::F64, 2,
                             [](llvm::IRBuilder<>& b, VectorMath& m, std::span<Value*> v) {
                               return m(emit::fused, v[0], v[1],
                                        b.CreateFNeg(b.CreateFMul(v[0], v[1])));
                             },
                             {.lanes = 4, .target = target});
    const std::vector<double> x{1 + 0x1p-30, 3}, y{1 + 0x1p-29, 5};
    EXPECT_EQ(f.map2<double>(x, y), (std::vector<double>{0x1p-59, 0})) << target;
  }
}

}  // namespace
}  // namespace adjit::testing
