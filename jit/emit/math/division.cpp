// jit/emit/math/division.cpp -- division of many numerators by one divisor.
//
// A division of 16 floats keeps the divider busy for 10 cycles, a multiplication the multiplier for
// half a one. With r the rounded reciprocal of d, q = x r is within two units of x / d, its
// remainder x - q d is exact, and q + (x - q d) r is x / d rounded correctly (Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor", IBM J. Res. Dev. 34,
// 1990), as long as the remainder does not underflow (vector_math.hpp).
#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {

Divisor divisor(Floats d) {
  const double far = d.is_double() ? 0x1p512 : 0x1p64;
  const Floats size = fabs(d);
  const Floats at_most = select(size > far, size.constant(1 / far), 1.0);
  const Floats power = select(size < 1 / far, far, at_most);
  const Floats magnitude = size * power;
  return {copysign(power, d), magnitude, 1 / magnitude};
}

// The remainder has the other sign than in the formula, so that zeros keep theirs: it is +0 where
// the quotient is exact. It is NaN where the quotient is infinite, or of infinities.
Floats divided(Floats scaled, Floats magnitude, Floats reciprocal) {
  const Floats quotient = scaled * reciprocal;
  const Floats excess = fused(quotient, magnitude, -scaled);
  const Floats corrected = fused(-excess, reciprocal, quotient);
  return select(is_nan(corrected), quotient, corrected);
}

}  // namespace adjit::emit::elementary
