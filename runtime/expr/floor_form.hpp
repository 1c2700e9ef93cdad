// runtime/expr/floor_form.hpp -- floor(form / divisor) with as little in the division as its range
// allows.
//
// Whole multiples of the divisor leave it: (8*j + k) // 4 is 2*j + k // 4. A rest in [0, divisor)
// vanishes. What stays between two multiples of a common factor of the other terms and of the
// divisor is not needed: (3136*j + 56*k + l) // 25088 is j // 8 where 0 <= 56*k + l < 3136.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "runtime/expr/affine.hpp"

namespace adjit::expr {

/// Divisors from here on leave the remainder of least magnitude of a number, others the one that is
/// not negative: multiples of what is below 2^31 by an index fit 64 bits, also behind the last
/// point, where code and cost compute some.
inline constexpr int64_t kHugeDivisor = int64_t{1} << 31;

/// whole + floor(rest / divisor). The rest is 0 where nothing is left to divide; its numbers lie in
/// [0, divisor), or in (-divisor / 2, divisor / 2] for a huge divisor, and its coefficients have no
/// factor in common with the divisor.
struct FloorForm {
  Affine whole, rest;
  int64_t divisor = 1;
};

/// A number as whole * divisor + rest, as in FloorForm.
struct DividedNumber {
  int64_t whole, rest;
};
inline DividedNumber divided_number(int64_t number, int64_t divisor) {
  const int64_t whole = floor_div(number, divisor), rest = floor_mod(number, divisor);
  if (divisor >= kHugeDivisor && rest > divisor - rest) return {whole + 1, rest - divisor};
  return {whole, rest};
}

/// `range` gives a form's inclusive bounds, as something with members lo and hi.
template <class RangeOf>
FloorForm floor_form(const Affine& form, int64_t divisor, const RangeOf& range) {
  const DividedNumber constant = divided_number(form.constant(), divisor);
  FloorForm found{Affine(constant.whole), Affine(constant.rest), divisor};
  for (size_t k = 0; k < form.size(); ++k) {
    const DividedNumber coefficient = divided_number(form.coefficient(k), divisor);
    found.whole.set_coefficient(k, coefficient.whole);
    found.rest.set_coefficient(k, coefficient.rest);
  }
  const auto bounds = range(found.rest);
  const int64_t lo = floor_div(bounds.lo, divisor);
  if (lo == floor_div(bounds.hi, divisor)) {
    found.whole += lo;
    found.rest = Affine();
    return found;
  }
  // Of single terms; and of all, which leaves whatever the rest is.
  std::vector<int64_t> factors{std::gcd(gcd_of_coefficients(found.rest), divisor)};
  for (const int64_t c : found.rest.coefficients())
    if (c != 0) factors.push_back(std::gcd(c, divisor));
  std::ranges::sort(factors, std::greater());
  for (const int64_t factor : factors) {
    if (factor == 1) break;
    Affine multiple(floor_div(found.rest.constant(), factor));
    Affine below(floor_mod(found.rest.constant(), factor));
    for (size_t k = 0; k < found.rest.size(); ++k) {
      const int64_t c = found.rest.coefficient(k);
      (c % factor == 0 ? multiple : below).set_coefficient(k, c % factor == 0 ? c / factor : c);
    }
    const auto small = range(below);
    const int64_t steps = floor_div(small.lo, factor);
    if (floor_div(small.hi, factor) != steps) continue;
    FloorForm inner = floor_form(multiple + Affine(steps), divisor / factor, range);
    inner.whole += found.whole;
    return inner;
  }
  return found;
}

}  // namespace adjit::expr
