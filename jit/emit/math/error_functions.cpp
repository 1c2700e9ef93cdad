// jit/emit/math/error_functions.cpp -- erf and erfc.
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/polynomials.hpp"

namespace adjit::emit::elementary {
namespace {

// erfc(a) = e^(-a^2) g(t) / (1 + 2 a) for a >= 0, with g a polynomial in t = (a - k) / (a + k)
// (Shepherd and Laframboise).
Floats erfc_of_positive(Floats a) {
  const double k = a.is_double() ? 4 : 2;            // as in polynomials.py
  const double largest = a.is_double() ? 28 : 10.5;  // erfc is 0 beyond
  a = select(a > largest, largest, a);
  const Floats sum = a + k;
  const Floats t = (a - k) / sum;
  const Floats g = polynomial(t, by_type(a, polynomials::kF32Erfcx, polynomials::kF64Erfcx));
  const Pair square = exact_product(a, a);
  const Floats factor = g / multiply_add(a, 2, 1);
  return exp_times({-square.high, -square.low}, factor);
}

// Up to kMiddle erf(x) = x + x P(x^2).
constexpr double kMiddle = 0.9277;
Floats erf_near_zero(Floats x) {
  const Floats p = polynomial(x * x, by_type(x, polynomials::kF32Erf, polynomials::kF64Erf));
  return multiply_add(x, p, x);
}

}  // namespace

Floats erf(Floats x) {
  const Floats a = fabs(x);
  const Floats small = erf_near_zero(a);
  if (x.is_double()) {
    const Floats large = 1 - erfc_of_positive(a);
    return copysign(select(a < kMiddle, small, large), x);
  }
  // In float erfc(a) = e^(-a - a P(a)) is precise enough beside 1.
  const Floats bounded = select(a > 4, 4, a);
  const Floats q = polynomial(bounded, polynomials::kF32LogErfc);
  const Floats large = 1 - exp(-multiply_add(bounded, q, bounded));
  return copysign(select(a < kMiddle, small, large), x);
}

Floats erfc(Floats x) {
  const Floats a = fabs(x);
  const Floats value = erfc_of_positive(a);
  const Floats mirrored = 2 - value;
  const Floats far = select(x < 0, mirrored, value);
  // Down to 1/4 the difference is the more precise.
  const Floats near = 1 - erf_near_zero(x);
  return select(a < 0.8125, near, far);
}

}  // namespace adjit::emit::elementary
