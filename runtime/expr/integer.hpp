// runtime/expr/integer.hpp -- exact integer arithmetic: overflow is an exception, division floors.
#pragma once

#include <concepts>
#include <cstdint>
#include <numeric>
#include <span>

#include "runtime/expr/error.hpp"

namespace adjit::expr {

/// Thrown by the checked operations below; integer-set code catches it and falls back. Where it
/// reaches a caller, extents or attributes were given that make a size or an index of more bits.
class Overflow : public Error {
 public:
  Overflow()
      : Error(ErrorCode::Shape,
              "a size or an index overflows 64 bits: the extents or numbers given are too large") {}
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
/// The value, which has a magnitude and a negative: Overflow for INT64_MIN.
inline int64_t with_negative(int64_t value) {
  if (value == INT64_MIN) throw Overflow();
  return value;
}

/// An int64 whose sums, differences and products are exact or raise Overflow: what extents, strides
/// and attributes are computed in. Mixes with built-in integers on either side.
class Exact {
 public:
  // It stands wherever an int64 does.
  constexpr Exact(int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr operator int64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

  Exact& operator+=(Exact other) { return *this = checked_add(value_, other.value_); }
  Exact& operator-=(Exact other) { return *this = checked_sub(value_, other.value_); }
  Exact& operator*=(Exact other) { return *this = checked_mul(value_, other.value_); }
  Exact operator-() const { return checked_sub(0, value_); }

 private:
  int64_t value_;
};

#define ADJIT_EXACT_BINARY(op, function)                                                  \
  inline Exact operator op(Exact a, Exact b) { return function(int64_t{a}, int64_t{b}); } \
  template <std::integral T>                                                              \
  Exact operator op(Exact a, T b) {                                                       \
    return function(int64_t{a}, static_cast<int64_t>(b));                                 \
  }                                                                                       \
  template <std::integral T>                                                              \
  Exact operator op(T a, Exact b) {                                                       \
    return function(static_cast<int64_t>(a), int64_t{b});                                 \
  }
ADJIT_EXACT_BINARY(+, checked_add)
ADJIT_EXACT_BINARY(-, checked_sub)
ADJIT_EXACT_BINARY(*, checked_mul)
#undef ADJIT_EXACT_BINARY

/// Whether the product of the extents, empty ones taken as 1, and of `element` fits 64 bits: then
/// the product of any of them does, and every stride.
inline bool is_countable(std::span<const int64_t> extents, int64_t element = 1) {
  int64_t product = element;
  for (const int64_t extent : extents)
    if (extent > 0 && __builtin_mul_overflow(product, extent, &product)) return false;
  return true;
}

/// floor(a / b) for b != 0 (rounds towards minus infinity). Overflow for INT64_MIN / -1.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1 && a == INT64_MIN) throw Overflow();
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
/// ceil(a / b) for b != 0. Overflow for INT64_MIN / -1.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  if (b == -1 && a == INT64_MIN) throw Overflow();
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) == (b < 0))) ? q + 1 : q;
}
/// a - b * floor(a / b): has the sign of b.
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;  // INT64_MIN % -1 leaves the range on its way
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace adjit::expr
