// jit/emit/math/pairs.cpp -- arithmetic on pairs of floats, to twice their digits or nearly so.
#include "jit/emit/math/pairs.hpp"

#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {

Pair product(Pair a, Pair b) {
  const Pair p = exact_product(a.high, b.high);
  return exact_sum_ordered(p.high, p.low + multiply_add(a.high, b.low, a.low * b.high));
}

Pair product(Pair a, Floats b) {
  const Pair p = exact_product(a.high, b);
  return exact_sum_ordered(p.high, multiply_add(a.low, b, p.low));
}

Pair sum(Pair a, Pair b) {
  const Pair s = exact_sum(a.high, b.high);
  return exact_sum_ordered(s.high, s.low + (a.low + b.low));
}

Pair sum(Pair a, Floats b) {
  const Pair s = exact_sum(a.high, b);
  return exact_sum_ordered(s.high, s.low + a.low);
}

Pair negated(Pair a) {
  const Floats high = -a.high;
  return {high, -a.low};
}

Pair reciprocal(Floats a) {
  const Floats quotient = 1 / a;
  const Floats rest = fused(-quotient, a, a.constant(1));
  return {quotient, quotient * rest};
}

Pair reciprocal(Pair a) {
  const Floats quotient = 1 / a.high;
  const Floats exact_rest = fused(-quotient, a.high, a.high.constant(1));
  const Floats rest = multiply_add(-quotient, a.low, exact_rest);
  return {quotient, quotient * rest};
}

// One step of Newton's.
Pair square_root(Pair a) {
  const Floats root = sqrt(a.high);
  const Floats rest = fused(-root, root, a.high) + a.low;
  return {root, rest / (root * 2)};
}

Floats rounded(Pair a) { return a.high + a.low; }

Pair pair_of(Floats like, pair_tables::Number number) {
  return {like.constant(number.high), like.constant(number.low)};
}

Pair polynomial(Pair x, std::span<const pair_tables::Number> first, std::span<const double> rest) {
  Pair value{polynomial(x.high, rest), x.high.constant(0)};
  for (size_t k = first.size(); k-- > 0;) value = sum(pair_of(x.high, first[k]), product(x, value));
  return value;
}

Pair log_pair(Pair x) {
  const Pair log = log_pair(x.high);
  return sum(log, x.low / x.high);
}

}  // namespace adjit::emit::elementary
