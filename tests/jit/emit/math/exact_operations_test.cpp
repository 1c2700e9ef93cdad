// tests/jit/emit/math/exact_operations_test.cpp -- roots, roundings, signs and comparisons.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/vector_math.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;
using Limits32 = std::numeric_limits<float>;
using Limits64 = std::numeric_limits<double>;

template <class T>
T rsqrt(T x) {
  return 1 / std::sqrt(x);
}

const UnaryFunction kRootsAndRoundings[] = {
    {"rsqrt", emit::elementary::rsqrt, rsqrt<double>, rsqrt<long double>, 1.5, 1.5, 0, 4},
    {ADJIT_C_FUNCTION(sqrt), 0.5, 0.5, 0, 4},
    {ADJIT_C_FUNCTION(floor), 0, 0, -10, 10},
    {ADJIT_C_FUNCTION(ceil), 0, 0, -10, 10},
    {ADJIT_C_FUNCTION(trunc), 0, 0, -10, 10},
    {"round", emit::elementary::round, ::rint, ::rintl, 0, 0, -10, 10},
    {"abs", emit::fabs, ::fabs, ::fabsl, 0, 0, -10, 10},
};

INSTANTIATE_TEST_SUITE_P(ExactOperations, UnaryFunctions, ::testing::ValuesIn(kRootsAndRoundings),
                         name_of_function);

double least(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a; }
double greatest(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a;
}

TEST(ExactOperations, MinimumAndMaximumPropagateNaNAndKeepTheFirstOfEquals) {
  expect_binary_within<float, double>(emit::elementary::minimum, least, 0);
  expect_binary_within<float, double>(emit::elementary::maximum, greatest, 0);
}

TEST(ExactOperations, MaximumWithAConstantIsStillThat) {
  const CompiledFunction second(
      Element::F32, Element::F32, 1, [](llvm::IRBuilder<>&, VectorMath& m, std::span<Value*> v) {
        return m(emit::elementary::maximum, v[0], llvm::ConstantFP::get(v[0]->getType(), 0.0));
      });
  const CompiledFunction first(
      Element::F32, Element::F32, 1, [](llvm::IRBuilder<>&, VectorMath& m, std::span<Value*> v) {
        return m(emit::elementary::minimum, llvm::ConstantFP::get(v[0]->getType(), 0.0), v[0]);
      });
  const std::vector<float> x = special_values<float>();
  const std::vector<float> a = second.map<float>(x), b = first.map<float>(x);
  for (size_t k = 0; k < x.size(); ++k) {
    EXPECT_EQ(ulps(a[k], greatest(static_cast<double>(x[k]), 0.0)), 0) << x[k];
    EXPECT_EQ(ulps(b[k], least(0.0, static_cast<double>(x[k]))), 0) << x[k];
  }
}

TEST(ExactOperations, SignIsMinusOneZeroOneOrNaN) {
  const std::vector<double> x{-0.0, 0.0, -3, Limits64::denorm_min(), Limits64::infinity()};
  const std::vector<double> expected{0, 0, -1, 1, 1};
  const CompiledFunction f(Element::F64, Element::F64, 1,
                           [](llvm::IRBuilder<>&, VectorMath& m, std::span<Value*> v) {
                             return m(emit::elementary::sign, v[0]);
                           },
                           {.lanes = 8});
  EXPECT_EQ(f.map<double>(x), expected);
  EXPECT_FALSE(std::signbit(f.map<double>(x)[0]));
  EXPECT_TRUE(std::isnan(f.map<double>(std::vector<double>{Limits64::quiet_NaN()})[0]));
}

TEST(ExactOperations, TestsOfClass) {
  const auto as_number = [](VectorMath::Test test) {
    return CompiledFunction(Element::F32, Element::F32, 1,
                            [=](llvm::IRBuilder<>& b, VectorMath& m, std::span<Value*> v) {
                              return b.CreateUIToFP(m(test, v[0]), v[0]->getType());
                            });
  };
  const float inf = Limits32::infinity(), nan = Limits32::quiet_NaN();
  const std::vector<float> x{0, 1, -inf, inf, nan, -nan, Limits32::max()};
  EXPECT_EQ(as_number(emit::is_nan).map<float>(x), (std::vector<float>{0, 0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(as_number(emit::elementary::is_inf).map<float>(x),
            (std::vector<float>{0, 0, 1, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace adjit::testing
