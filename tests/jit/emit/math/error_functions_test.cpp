// tests/jit/emit/math/error_functions_test.cpp -- erf and erfc.
#include <gtest/gtest.h>

#include <cmath>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

const UnaryFunction kErrorFunctions[] = {
    {ADJIT_C_FUNCTION(erf), 1.2, 1.2, -5, 5},
    {ADJIT_C_FUNCTION(erfc), 3.5, 3.5, -5, 26},
};
INSTANTIATE_TEST_SUITE_P(ErrorFunctions, UnaryFunctions, ::testing::ValuesIn(kErrorFunctions),
                         name_of_function);

// Down to the least subnormal number, which is that of about 27.2.
TEST(ErrorFunctions, TheTailOfErfcIsPreciseUntilItUnderflows) {
  std::vector<double> x;
  for (double at = 20; at < 29; at += 0x1p-9) x.push_back(at);
  const std::vector<double> got = evaluate<double>(
      [](Floats a, Floats) { return emit::elementary::erfc(a); }, x, x, {.lanes = 8});
  for (size_t k = 0; k < x.size(); ++k)
    ASSERT_LE(ulps(got[k], std::erfc(1.0L * x[k])), 3.5) << x[k];
  EXPECT_GT(got[static_cast<size_t>(7 * 512)], 0) << "27";
  EXPECT_EQ(got.back(), 0);
}

}  // namespace
}  // namespace adjit::testing
