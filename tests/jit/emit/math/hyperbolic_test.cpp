// tests/jit/emit/math/hyperbolic_test.cpp -- hyperbolic functions and their inverses.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/jit/emit/math/bounded_functions.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

const UnaryFunction kHyperbolic[] = {
    {ADJIT_C_FUNCTION(sinh), 1.8, 1.8, -10, 10}, {ADJIT_C_FUNCTION(cosh), 1.6, 1.6, -10, 10},
    {ADJIT_C_FUNCTION(tanh), 1.5, 1.3, -3, 3},   {ADJIT_C_FUNCTION(asinh), 2.0, 1.8, -10, 10},
    {ADJIT_C_FUNCTION(acosh), 2.0, 1.8, 1, 10},  {ADJIT_C_FUNCTION(atanh), 2.2, 2.0, -1, 1},
};
INSTANTIATE_TEST_SUITE_P(Hyperbolic, UnaryFunctions, ::testing::ValuesIn(kHyperbolic),
                         name_of_function);

struct Symmetry {
  const char* name;
  VectorMath::Unary formula;
  bool odd;
};
constexpr Symmetry kSymmetries[] = {{"sinh", emit::elementary::sinh, true},
                                    {"cosh", emit::elementary::cosh, false},
                                    {"tanh", emit::elementary::tanh, true},
                                    {"asinh", emit::elementary::asinh, true},
                                    {"atanh", emit::elementary::atanh, true}};

template <class T, class Bits>
void expect_symmetric(const Symmetry& symmetry) {
  const CompiledFunction f(element_of<T>(), element_of<T>(), 1,
                           [&](llvm::IRBuilder<>&, VectorMath& math, std::span<llvm::Value*> v) {
                             return math(symmetry.formula, v[0]);
                           },
                           {.lanes = 64 / sizeof(T)});
  std::vector<T> x, negative;
  for (int k = -400; k < 400; ++k)
    x.push_back(std::ldexp(T(1.37), k / 8) * static_cast<T>(1 + k % 8));
  for (T value : x) negative.push_back(-value);
  const std::vector<T> a = f.map<T>(x), b = f.map<T>(negative);
  for (size_t k = 0; k < x.size(); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    ASSERT_EQ(std::bit_cast<Bits>(symmetry.odd ? -a[k] : a[k]), std::bit_cast<Bits>(b[k]))
        << symmetry.name << "(" << x[k] << ") = " << a[k];
  }
}

TEST(Hyperbolic, ANegativeArgumentGivesTheSameBitsButForTheSign) {
  for (const Symmetry& symmetry : kSymmetries) {
    expect_symmetric<float, uint32_t>(symmetry);
    expect_symmetric<double, uint64_t>(symmetry);
  }
}

}  // namespace
}  // namespace adjit::testing
