// tests/jit/emit/math/roots_test.cpp -- lengths and powers of quarters against the C library's in a
// wider type.
#include "jit/emit/math/vector_math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;

template <class T, class W>
void expect_power_within(double exponent, double bound) {
  const CompiledFunction f(element_of<T>(), element_of<T>(), 1,
                           [=](llvm::IRBuilder<>&, VectorMath& math, std::span<Value*> v) {
                             return math(emit::elementary::pow, v[0],
                                         llvm::ConstantFP::get(v[0]->getType(), exponent));
                           },
                           {.lanes = 64 / sizeof(T)});
  for (double scale : {4.0, 1e30}) {
    const Pairs<T> pairs(scale);
    const std::vector<T> got = f.map<T>(pairs.x);
    for (size_t k = 0; k < got.size(); ++k) {
      const W exact = std::pow(static_cast<W>(pairs.x[k]), static_cast<W>(exponent));
      ASSERT_LE(ulps(got[k], exact), bound) << pairs.x[k] << "^" << exponent << " gives " << got[k];
      ASSERT_FALSE(exact == 0 && std::signbit(got[k])) << pairs.x[k] << "^" << exponent;
    }
  }
}

TEST(Roots, PowersOfQuartersAreSquareRoots) {
  for (int quarters : {-7, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 7}) {
    expect_power_within<float, double>(quarters / 4.0, 4.0);
    expect_power_within<double, long double>(quarters / 4.0, 4.0);
  }
}

TEST(Roots, PowersOfQuartersHaveTheSameBitsInAnyNumberOfLanes) {
  std::vector<float> x = special_values<float>();
  for (int k = 0; k < 1000; ++k)
    x.push_back(std::ldexp(1 + static_cast<float>(k) / 1000, k % 200 - 100));
  for (double exponent : {-1.75, -0.75, -0.25}) {
    const auto powers = [&](unsigned lanes) {
      return CompiledFunction(Element::F32, Element::F32, 1,
                              [=](llvm::IRBuilder<>&, VectorMath& math, std::span<Value*> v) {
                                return math(emit::elementary::pow, v[0],
                                            llvm::ConstantFP::get(v[0]->getType(), exponent));
                              },
                              {.lanes = lanes})
          .map<float>(x);
    };
    const std::vector<float> scalars = powers(0);
    for (unsigned lanes : {2u, 4u, 8u, 16u, 32u}) {
      const std::vector<float> got = powers(lanes);
      for (size_t k = 0; k < x.size(); ++k)
        ASSERT_EQ(std::bit_cast<uint32_t>(got[k]) << 1, std::bit_cast<uint32_t>(scalars[k]) << 1)
            << x[k] << "^" << exponent << " in " << lanes << " lanes";
    }
  }
}

TEST(Roots, LengthsOfTheWholeRange) {
  for (const char* target : {"native", "x86-64-v2"}) {
    expect_binary_within<float, double>(emit::elementary::hypot, ::hypot, 1.5, target);
    expect_binary_within<double, long double>(emit::elementary::hypot, ::hypotl, 1.5, target);
  }
}

}  // namespace
}  // namespace adjit::testing
