// runtime/expr/floored_division.hpp -- whole quotients of floats rounded down, and what they leave.
#pragma once

#include <cmath>
#include <limits>

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

/// a - b floor(a / b): exact, then rounded once (-1e-20 and 1 give 1). It has the sign of b, and so
/// has a zero; where b is infinite, it is a or, of the other sign, b. NaN where a is infinite or b
/// is 0.
template <class T>
T floored_rest(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// floor(a / b), exact where it can be told from its neighbours (below 2^24 or 2^53); beyond, a / b
/// rounded to nearest is an integer, and the result. NaN where a is infinite and b is not 0.
template <class T>
T floored_quotient(T a, T b) {
  if (std::isinf(a) && b != 0) return std::numeric_limits<T>::quiet_NaN();
  const T ratio = a / b;
  const T whole = std::floor(ratio);
  if (!(std::fabs(ratio) < 1 / (std::numeric_limits<T>::epsilon() / 2))) return whole;
  // A ratio just below an integer may have been rounded to it, or a tiny one to 0.
  const T rest = std::isinf(b) && whole == 0 ? a : std::fma(-whole, b, a);
  return (rest < 0 && b > 0) || (rest > 0 && b < 0) ? whole - 1 : whole;
}

}  // namespace adjit::expr
