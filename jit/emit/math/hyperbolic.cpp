// jit/emit/math/hyperbolic.cpp -- hyperbolic functions and their inverses.
#include <llvm/IR/Intrinsics.h>

#include <array>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/polynomials.hpp"

namespace adjit::emit::elementary {
namespace {

// tanh(x) = x + x^3 P(x^2) / Q(x^2) up to 0.625 (Cephes)
constexpr std::array kTanhNumerator{-1.61468768441708447952E3, -9.92877231001918586564E1,
                                    -9.64399179425052238628E-1};
constexpr std::array kTanhDenominator{4.84406305325125486048E3, 2.23548839060100448583E3,
                                      1.12811678491632931402E2, 1.0};

// e^a / 2 for a >= 0, which overflows only where sinh and cosh do.
Floats half_exp(Floats a) {
  const double largest = a.is_double() ? 720 : 100;
  return exp_times({select(a > largest, largest, a), a.constant(0)}, a.constant(0.5));
}

}  // namespace

// Past the polynomial 1 - 2 / (e^2a + 1). In double both branches share the division.
Floats tanh(Floats x) {
  const Floats a = fabs(x);
  const Floats z = x * x;
  const Floats e = exp(a + a);
  if (!x.is_double()) {
    const Floats p = polynomial(z, polynomials::kF32Tanh);
    const Floats small = multiply_add(p * z, x, x);
    const Floats large = 1 - 2 / (e + 1);
    return copysign(select(a < 0.625, small, large), x);
  }
  const Mask is_small = a < 0.65;
  const Floats numerator = z * polynomial(z, kTanhNumerator);
  const Floats past = e + 1;
  const Floats denominator = select(is_small, polynomial(z, kTanhDenominator), past);
  const Floats quotient = select(is_small, numerator, -2) / denominator;
  const Floats large = 1 + quotient;
  const Floats value = select(is_small, multiply_add(a, quotient, a), large);
  return copysign(value, x);
}

Floats sinh(Floats x) {
  const Floats a = fabs(x);
  const Floats z = x * x;
  const Floats half = half_exp(a);
  const Floats large = half - 0.25 / half;
  const Floats p = polynomial(z, by_type(x, polynomials::kF32Sinh, polynomials::kF64Sinh));
  const Floats small = multiply_add(a * z, p, a);
  return copysign(select(a < 1, small, large), x);
}

Floats cosh(Floats x) {
  const Floats half = half_exp(fabs(x));
  return half + 0.25 / half;
}

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))); for large a it is log(2 a).
Floats asinh(Floats x) {
  const Floats a = fabs(x);
  const Mask large = a > (x.is_double() ? 0x1p28 : 0x1p13);
  const Floats square = a * a;
  const Floats y = a + square / (1 + sqrt(square + 1));
  const Pair sum = exact_sum(a.constant(1), y);
  const Floats k = select(large, x.constant(1), x.constant(0));
  const Floats value = log_of_sum({select(large, a, sum.high), select(large, 0, sum.low)}, k);
  return copysign(select(a < (x.is_double() ? 0x1p-28 : 0x1p-13), a, value), x);
}

// log(x + sqrt(t^2 + 2 t)) with t = x - 1; for large x it is log(2 x). In double the root's
// rounding error is corrected to first order.
Floats acosh(Floats x) {
  const Mask large = x > (x.is_double() ? 0x1p28 : 0x1p13);
  const Floats t = x - 1;
  const Floats square = multiply_add(t, t, t + t);
  const Floats root = sqrt(square);
  Pair sum = exact_sum_ordered(x, root);
  if (x.is_double()) {
    const Floats nonzero = root + (root + 0x1p-100);
    sum.low = sum.low + multiply_add(-root, root, square) / nonzero;
  }
  const Floats k = select(large, x.constant(1), x.constant(0));
  const Floats value = log_of_sum({select(large, x, sum.high), select(large, 0, sum.low)}, k, true);
  return select(x < 1, x.nan(), value);
}

// log(1 + y) / 2 with y = 2 a / (1 - a) = 2 a + 2 a (a / (1 - a)): where y is small the division's
// errors are, too.
Floats atanh(Floats x) {
  const Floats a = fabs(x);
  const Floats twice = a + a;
  const Pair sum = exact_sum(a.constant(1), multiply_add(twice, a / (1 - a), twice));
  const Floats value = log_of_sum(sum, a.constant(0)) * 0.5;
  const Floats defined = select(a > 1, a.nan(), value);
  return copysign(select(a < (x.is_double() ? 0x1p-28 : 0x1p-13), a, defined), x);
}

}  // namespace adjit::emit::elementary
