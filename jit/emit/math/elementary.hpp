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

/// log(x) to about 2^-65 of the result, of doubles that are positive numbers.
Pair log_pair(Floats x);

// exact_operations.cpp: exact, or correctly rounded, but for rsqrt, an exact division by a root.
Floats sqrt(Floats x);
Floats rsqrt(Floats x);
Floats floor(Floats x);
Floats ceil(Floats x);
Floats trunc(Floats x);
Floats round(Floats x);  // half to even
Floats sign(Floats x);   // -1, 0, 1; NaN for NaN
Mask is_inf(Floats x);
/// NaN if an operand is; of two equal operands the first (which matters for -0 and 0; on a GPU -0
/// is the lesser one of them in float).
Floats minimum(Floats a, Floats b);
Floats maximum(Floats a, Floats b);
/// Whether it is known when the code is made, the same in all lanes, and no NaN.
bool is_constant_number(Floats x);

// roots.cpp
Floats hypot(Floats a, Floats b);
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

// far_reduction.cpp
/// x = n pi / 2 + angle, of a double that is no vector and at least 2^15; n in its low bits.
struct FarQuarters {
  Ints n;
  Pair angle;
};
FarQuarters far_quarters(Floats x);

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
/// floor(x / y), exact below 2^24 (double: 2^53) and rounded to nearest beyond; NaN where x is
/// infinite and y is not 0.
Floats floor_div(Floats x, Floats y);
/// x - y floor(x / y): exact, then rounded once, with the sign of y (a zero has it, too).
Floats floor_mod(Floats x, Floats y);
/// x - y trunc(x / y): exact, with the sign of x.
Floats fmod(Floats x, Floats y);

// gamma_functions.cpp, polygamma.cpp, inverse_error_function.cpp: of the library where there is
// one.
Floats lgamma(Floats x);
Floats digamma(Floats x);
Floats polygamma(Floats order, Floats x);
Floats erfinv(Floats x);

// library_calls.cpp
/// Calls `adjit_math_<name>_f32|f64` on the lanes of `x` (and of `y`, stored behind them) through
/// the stack.
Floats library_call(const char* name, Floats x);
Floats library_call(const char* name, Floats x, Floats y);

}  // namespace adjit::emit::elementary
