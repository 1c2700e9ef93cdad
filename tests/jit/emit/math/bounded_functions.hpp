// tests/jit/emit/math/bounded_functions.hpp -- functions with their references in a wider type and
// their bounds. Tests list those of their source; vector_math_test.cpp says what is asked of each.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/vector_math.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A function of one argument, its reference, and its bounds of vector_math.hpp in units in the
/// last place.
struct UnaryFunction {
  const char* name;
  VectorMath::Unary formula;
  double (*reference_f32)(double);
  long double (*reference_f64)(long double);
  double bound_f32, bound_f64;
  double low, high;  // where most samples of the double test lie
};

/// Name, function and references of one that the C library has.
#define ADJIT_C_FUNCTION(name) #name, emit::elementary::name, ::name, ::name##l

class UnaryFunctions : public ::testing::TestWithParam<UnaryFunction> {};

inline std::string name_of_function(const ::testing::TestParamInfo<UnaryFunction>& row) {
  return row.param.name;
}

/// The function of two operands is within its bound of the reference on a target.
template <class T, class W>
void expect_binary_within(VectorMath::Binary formula, W (*reference)(W, W), double bound,
                          const char* target = "") {
  const CompiledFunction f(element_of<T>(), element_of<T>(), 2,
                           [=](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                             return math(formula, v[0], v[1]);
                           },
                           {.lanes = 64 / sizeof(T), .target = target});
  for (double scale : {4.0, 100.0}) {
    const Pairs<T> pairs(scale);
    const std::vector<T> got = f.map2<T>(pairs.x, pairs.y);
    double worst = -1;
    size_t at = 0;
    for (size_t k = 0; k < got.size(); ++k) {
      const W exact = reference(static_cast<W>(pairs.x[k]), static_cast<W>(pairs.y[k]));
      const double error = ulps(got[k], exact);
      if (error > worst) {
        worst = error;
        at = k;
      }
    }
    EXPECT_LE(worst, bound) << "(" << pairs.x[at] << ", " << pairs.y[at] << ") gives " << got[at]
                            << " on " << target;
  }
}

}  // namespace adjit::testing
