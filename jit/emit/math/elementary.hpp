// jit/emit/math/elementary.hpp -- the formulas behind VectorMath, on lanes.
//
// vector_math.hpp says what is promised of each function. Here they can use one another, and the
// pieces that they share.
#pragma once

#include <optional>

#include "jit/emit/ir/lanes.hpp"

namespace adjit::emit::elementary {

// exponentials.cpp
Floats exp(Floats x);
Floats exp2(Floats x);
Floats expm1(Floats x);
Floats sigmoid(Floats x);
/// e^(high + low) * factor, for arguments from -1e4 to 1e4: the factor comes in before the result
/// can underflow or overflow. NaN gives NaN.
Floats exp_times(Pair x, Floats factor);
/// p * 2^n for an n of integer value, |n| at most about 3,000 (150 in float... any n that 2^(n/2)
/// can hold). One rounding.
Floats scale(Floats p, Floats n);
/// The nearest integer of |x| < 2^21 (float) or 2^50 (double); `bits` holds it in its low bits,
/// two's complement.
struct Rounded {
  Floats value;
  Ints bits;
};
Rounded nearest_integer(Floats x, double factor);
/// 2^n of a normal result.
Floats power_of_two(Floats n);

// logarithms.cpp
Floats log(Floats x);
Floats log2(Floats x);
Floats log10(Floats x);
Floats log1p(Floats x);
Floats pow(Floats x, Floats y);
/// log(high + low) + k ln 2 with |low| at most half a unit of high; high is 0, +inf, negative (NaN)
/// or normal. Of a sum between 1/8 and 2 the rest that rounding its distance to 1 leaves may be
/// half a unit of the result: kept, it is added to first order.
Floats log_of_sum(Pair x, Floats k, bool keep_rest = false);

// roots.cpp
/// An exponent in quarters, where it is a constant that square roots reach: -7 .. 7 but for
/// multiples of 4.
std::optional<int> quarters_of(Floats y);
/// pow(x, quarters / 4) for such an exponent.
Floats quarter_power(Floats x, int quarters);

// trigonometry.cpp
Floats sin(Floats x);
Floats cos(Floats x);
Floats tan(Floats x);
Floats asin(Floats x);
Floats acos(Floats x);
Floats atan(Floats x);
Floats atan2(Floats y, Floats x);

// hyperbolic.cpp
Floats sinh(Floats x);
Floats cosh(Floats x);
Floats tanh(Floats x);
Floats asinh(Floats x);
Floats acosh(Floats x);
Floats atanh(Floats x);

// error_functions.cpp
Floats erf(Floats x);
Floats erfc(Floats x);

// division.cpp
/// |d| and 1 / |d| times powers of two, so that both are normal wherever d is neither 0 nor
/// infinite nor NaN; numerators are to be multiplied by `scale`, which has the sign of d.
struct Divisor {
  Floats scale, magnitude, reciprocal;
};
Divisor divisor(Floats d);
/// scaled / magnitude.
Floats divided(Floats scaled, Floats magnitude, Floats reciprocal);

// remainders.cpp
Floats floor_div(Floats x, Floats y);
Floats floor_mod(Floats x, Floats y);
Floats fmod(Floats x, Floats y);

// library_calls.cpp
/// Calls `adjit_math_<name>_f32|f64` on the lanes of `x` (and of `y`, stored behind them) through
/// the stack.
Floats library_call(const char* name, Floats x);
Floats library_call(const char* name, Floats x, Floats y);

}  // namespace adjit::emit::elementary
