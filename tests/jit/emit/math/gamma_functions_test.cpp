// tests/jit/emit/math/gamma_functions_test.cpp -- log gamma and digamma without a library, against
// mpmath's values and the library's.
#include <gtest/gtest.h>

#include <vector>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/math/without_library.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using GammaFunctions = WithoutLibrary;

using emit::elementary::digamma;
using emit::elementary::lgamma;

TEST_F(GammaFunctions, HoldTheirBoundsAtTheLibrarysPoints) {
  expect_at_points(lgamma, kLgammaPoints, 0);
  expect_at_hard_points(lgamma, kHardLgammaPoints, 7, 0);
  expect_at_points(digamma, kDigammaPoints, 1e-18);
  expect_at_hard_points(digamma, kHardDigammaPoints, 0.51, 0x1p-59);
}

// The bounds of both added up. Floats are rounded once from nearly the same doubles.
TEST_F(GammaFunctions, AreTheLibrarysWithinTheirBounds) {
  for (double end : {3.0, 30.0, 300.0}) {
    expect_as_library(lgamma, samples_between<double>(-end, end, 8000), 9);
    expect_as_library(digamma, samples_between<double>(-end, end, 8000), 1.03, 0x1p-58);
    expect_as_library(lgamma, samples_between<float>(-end, end, 8000), 1.02);
    expect_as_library(digamma, samples_between<float>(-end, end, 8000), 1.02);
  }
}

TEST_F(GammaFunctions, AtTheEndsOfTheirFormulas) {
  std::vector<double> x{0x1p-60, 1.2e17, 0x1p60, 2.5e305, 2.55e305, 2.57e305, 1.7e308};
  for (double end : {0.5, 1.5, 2.5, 16.5, 17.0, 0x1p-60, 0x1p60})
    for (double sign : {1.0, -1.0})
      for (double towards : {0.0, 1e308}) x.push_back(sign * std::nextafter(end, towards));
  expect_as_library(lgamma, x, 9);
  expect_as_library(digamma, x, 1.03, 0x1p-58);
}

}  // namespace
}  // namespace adjit::testing
