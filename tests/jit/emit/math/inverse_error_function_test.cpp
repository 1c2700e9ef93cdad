// tests/jit/emit/math/inverse_error_function_test.cpp -- erfinv without a library, against mpmath's
// values and the library's.
#include <gtest/gtest.h>

#include <vector>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/math/without_library.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using InverseErrorFunction = WithoutLibrary;

using emit::elementary::erfinv;

TEST_F(InverseErrorFunction, HoldsItsBoundAtTheLibrarysPoints) {
  expect_at_points(erfinv, kErfinvPoints, 0);
  expect_at_hard_points(erfinv, kHardErfinvPoints, 0.51, 0);
}

TEST_F(InverseErrorFunction, IsTheLibrarysWithinItsBound) {
  std::vector<double> x = samples_between<double>(-1, 1, 8000);
  std::vector<float> narrow = samples_between<float>(-1, 1, 8000);
  // At all distances from 1, all numbers and what is subnormal among results.
  for (int k = 1; k < 1074; ++k) {
    x.push_back(1 - std::ldexp(1.37, -k));
    x.push_back(std::ldexp(1.7320508075688772, -k));
    narrow.push_back(static_cast<float>(x.back()));
    narrow.push_back(1 - std::ldexp(1.37F, -k));
  }
  expect_as_library(erfinv, x, 1.02);
  expect_as_library(erfinv, narrow, 1.02);
}

}  // namespace
}  // namespace adjit::testing
