// tests/jit/emit/math/half_test.cpp -- conversions against the compiler's own.
#include "jit/emit/math/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "jit/cpu/float_mode.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;

CompiledFunction conversion(Element in, Element out, Value* (VectorMath::*function)(Value*),
                            const CompileOptions& options) {
  return {in, out, 1,
          [=](llvm::IRBuilder<>&, VectorMath& math, std::span<Value*> x) {
            return (math.*function)(x[0]);
          },
          options};
}

std::vector<CompileOptions> variants() {
  return {{.target = "native"},
          {.lanes = 0, .target = "native"},
          {.lanes = 3, .target = "x86-64-v3"},
          {.lanes = 8, .target = "x86-64-v2"},
          {.lanes = 0, .target = "x86-64-v2"}};
}

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits(65536);
  for (size_t k = 0; k < bits.size(); ++k) bits[k] = static_cast<uint16_t>(k);
  return bits;
}

float half_value(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}
template <class T>
uint16_t half_bits(T value) {
  const _Float16 half = static_cast<_Float16>(value);
  return std::bit_cast<uint16_t>(half);
}

/// As the C library computes, and as kernels do.
constexpr FloatMode kModes[] = {FloatMode::KeepSubnormals, FloatMode::FlushSubnormals};

template <class Out, class In>
std::vector<Out> map_in(FloatMode mode, const CompiledFunction& function,
                        const std::vector<In>& values) {
  const FloatModeScope scope(mode);
  return function.map<Out>(values);
}

bool is_nan_half(uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }

TEST(Half, EveryBitPatternWidens) {
  const std::vector<uint16_t> bits = all_bits();
  for (const CompileOptions& options : variants())
    for (const FloatMode mode : kModes) {
      const auto values = map_in<float>(
          mode, conversion(Element::I16, Element::F32, &VectorMath::extend_half, options), bits);
      for (size_t k = 0; k < bits.size(); ++k) {
        const float expected = half_value(bits[k]);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(values[k])) << k;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(values[k]), std::bit_cast<uint32_t>(expected)) << k;
        }
      }
    }
}

/// Halves, the midpoints between them, and the neighbours of both; NaN and what lies out of range.
std::vector<double> around_halves() {
  std::vector<double> values;
  for (uint32_t k = 0; k <= 0x7c00; k += 7) {
    const double low = static_cast<double>(half_value(static_cast<uint16_t>(k)));
    const double high =
        k == 0x7bff ? 65536.0 : static_cast<double>(half_value(static_cast<uint16_t>(k + 1)));
    for (double v : {low, (low + high) / 2}) {
      for (double w : {v, std::nextafter(v, 1e9), std::nextafter(v, -1e9),
                       static_cast<double>(std::nextafter(static_cast<float>(v), 1e9f)),
                       static_cast<double>(std::nextafter(static_cast<float>(v), -1e9f))}) {
        values.push_back(w);
        values.push_back(-w);
      }
    }
  }
  for (double v :
       {65504.0, 65519.9999999, 65520.0, 65536.0, 1e30, 1e300, 1e-30, 1e-310,
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return values;
}

TEST(Half, FloatNarrowsToTheNearest) {
  std::vector<float> values;
  for (double v : around_halves()) values.push_back(static_cast<float>(v));
  for (const CompileOptions& options : variants())
    for (const FloatMode mode : kModes) {
      const auto bits = map_in<uint16_t>(
          mode, conversion(Element::F32, Element::I16, &VectorMath::truncate_half, options),
          values);
      for (size_t k = 0; k < values.size(); ++k) {
        if (std::isnan(values[k])) {
          ASSERT_TRUE(is_nan_half(bits[k]));
        } else {
          ASSERT_EQ(bits[k], half_bits(values[k])) << values[k] << " on " << options.target;
        }
      }
    }
}

// Not by way of a rounded float: 1 + 2^-11 + 2^-40 is above the midpoint of two halves, its float
// is the midpoint.
TEST(Half, DoubleIsRoundedOnce) {
  std::vector<double> values = around_halves();
  values.push_back(1 + 0x1p-11 + 0x1p-40);
  for (const CompileOptions& options : variants())
    for (const FloatMode mode : kModes) {
      const auto bits = map_in<uint16_t>(
          mode, conversion(Element::F64, Element::I16, &VectorMath::truncate_half, options),
          values);
      EXPECT_EQ(bits.back(), 0x3c01);
      for (size_t k = 0; k < values.size(); ++k) {
        if (std::isnan(values[k])) {
          ASSERT_TRUE(is_nan_half(bits[k]));
        } else {
          ASSERT_EQ(bits[k], half_bits(values[k])) << values[k] << " on " << options.target;
        }
      }
    }
}

TEST(BFloat, EveryBitPatternSurvivesThereAndBack) {
  const std::vector<uint16_t> bits = all_bits();
  for (const CompileOptions& options : variants())
    for (const FloatMode mode : kModes) {
      const auto values = map_in<float>(
          mode, conversion(Element::I16, Element::F32, &VectorMath::extend_bfloat, options), bits);
      const auto back = map_in<uint16_t>(
          mode, conversion(Element::F32, Element::I16, &VectorMath::truncate_bfloat, options),
          values);
      for (size_t k = 0; k < bits.size(); ++k) {
        ASSERT_EQ(std::bit_cast<uint32_t>(values[k]), static_cast<uint32_t>(bits[k]) << 16);
        ASSERT_EQ(back[k], std::isnan(values[k]) ? bits[k] | 0x40 : bits[k]);
      }
    }
}

TEST(BFloat, WhatWasExtendedIsNotRoundedAgain) {
  const EmittedFunction function([](llvm::IRBuilder<>& b, llvm::Function& f) {
    VectorMath math(b, native_features());
    Value* memory = pointer_argument(b, f, 0);
    auto* type = llvm::FixedVectorType::get(b.getInt16Ty(), 8);
    Value* bits = b.CreateAlignedLoad(type, memory, llvm::Align(2));
    b.CreateAlignedStore(math.truncate_bfloat(math.extend_bfloat(bits)), memory, llvm::Align(2));
  });
  EXPECT_EQ(function.ir().find(" add "), std::string::npos) << function.ir();
  const std::vector<uint16_t> all = all_bits();  // signalling NaNs, too
  for (size_t k = 0; k < all.size(); k += 8) {
    std::vector<uint16_t> eight(all.begin() + static_cast<long>(k),
                                all.begin() + static_cast<long>(k + 8));
    void* pointers[] = {eight.data()};
    function(pointers);
    ASSERT_TRUE(std::equal(eight.begin(), eight.end(), all.begin() + static_cast<long>(k)));
  }
}

TEST(BFloat, FloatNarrowsToTheNearestHalfToEven) {
  const std::vector<float> values{1 + 0x1p-8f,
                                  1 + 3 * 0x1p-8f,
                                  1 + 0x1.8p-8f,
                                  std::nextafter(1 + 0x1p-8f, 0.0f),
                                  std::numeric_limits<float>::max(),
                                  0x1p-140f,
                                  -0.0f};
  const std::vector<uint16_t> expected{0x3f80, 0x3f82, 0x3f81, 0x3f80, 0x7f80, 0x0000, 0x8000};
  for (const CompileOptions& options : variants())
    EXPECT_EQ(conversion(Element::F32, Element::I16, &VectorMath::truncate_bfloat, options)
                  .map<uint16_t>(values),
              expected);
}

}  // namespace
}  // namespace adjit::testing
