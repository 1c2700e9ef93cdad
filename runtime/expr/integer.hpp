// runtime/expr/integer.hpp -- exact integer arithmetic: overflow is an exception, division floors.
#pragma once

#include <cstdint>
#include <numeric>

#include "runtime/expr/error.hpp"

namespace adjit {

/// Thrown by the checked operations below; integer-set code catches it and falls back.
class Overflow : public Error {
 public:
  Overflow() : Error(ErrorCode::Bounds, "integer arithmetic overflows 64 bits") {}
};

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) throw Overflow();
  return r;
}
inline int64_t checked_sub(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r)) throw Overflow();
  return r;
}
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) throw Overflow();
  return r;
}

/// floor(a / b) for b != 0 (rounds towards minus infinity).
constexpr int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
/// ceil(a / b) for b != 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) == (b < 0))) ? q + 1 : q;
}
/// a - b * floor(a / b): has the sign of b.
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;  // INT64_MIN % -1 leaves the range on its way
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace adjit
