// jit/emit/math/polygamma.cpp -- derivatives of digamma for machines without a library: Hurwitz's
// zeta function, in pairs of doubles.
//
// The derivative of order n at x is (-1)^s n! times the sum of (x + k)^-s over k >= 0, s = n + 1.
// With d, the x + k nearest to 0, it is n! / d^s times a sum of (d / (x + k))^s, which does not
// leave the range before the result does.
#include <array>

#include "jit/emit/ir/control.hpp"
#include "jit/emit/ir/scalar_functions.hpp"
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/pairs.hpp"

namespace adjit::emit::elementary {
namespace {

constexpr double kHighestOrder = 170;

Pair pair_at(const Results& results, size_t first) { return {results[first], results[first + 1]}; }

// By squaring; the exponent is a whole number that is not negative.
Pair whole_power(Pair base, Floats exponent) {
  const Floats one = exponent.constant(1), zero = exponent.constant(0);
  const Results found = repeated(
      {exponent, base.high, base.low, one, zero}, [](const Results& v) { return v[0] > 0; },
      [](const Results& v) {
        const Floats half = floor(v[0] * 0.5);
        const Mask odd = half + half != v[0];
        const Pair square = product(pair_at(v, 1), pair_at(v, 1));
        const Pair more = product(pair_at(v, 3), pair_at(v, 1));
        return Results{half, square.high, square.low, select(odd, more.high, v[3]),
                       select(odd, more.low, v[4])};
      });
  return pair_at(found, 3);
}

// What Euler's and Maclaurin's sum adds to y / (s - 1): 1/2 + B_2 / 2! s / y + B_4 / 4! s (s + 1)
// (s + 2) / y^3 + ...
Floats corrections(Floats s, Floats y) {
  static constexpr std::array kBernoulli{1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                         5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  const Floats inverse = 1 / y;
  const Floats square = inverse * inverse;
  Floats rising = s * inverse * 0.5;
  Floats added = s.constant(0.5);
  double even = 2;
  for (const double bernoulli : kBernoulli) {
    added = multiply_add(rising, bernoulli, added);
    const Floats next = (s + (even - 1)) * (s + even);
    rising = rising * next * square * (1 / ((even + 1) * (even + 2)));
    even += 2;
  }
  return added;
}

// Of s, d, and y in two parts, none below d: the sum of (d / (y + k))^s over k >= 0.
Results relative_zeta(Arguments arguments) {
  const Floats s = arguments[0], d = arguments[1];
  const auto ratio = [&](Pair y) { return whole_power(product(reciprocal(y), d), s); };
  const Floats far = s + 16, zero = s.constant(0);
  const Results summed = repeated(
      {arguments[2], arguments[3], zero, zero}, [&](const Results& v) { return v[0] < far; },
      [&](const Results& v) {
        const Pair total = sum(pair_at(v, 2), ratio(pair_at(v, 0)));
        const Pair next = sum(pair_at(v, 0), v[0].constant(1));
        return Results{next.high, next.low, total.high, total.low};
      });
  const Pair y = pair_at(summed, 0);
  const Pair integral = product(y, reciprocal(s - 1));
  const Pair rest = product(ratio(y), sum(integral, corrections(s, y.high)));
  const Pair whole = sum(pair_at(summed, 2), rest);
  return {whole.high, whole.low};
}
constexpr ScalarFunction kRelativeZeta{"relative_zeta", 2, relative_zeta};

Pair zeta(Floats s, Floats d, Pair y) {
  const Floats arguments[] = {s, d, y.high, y.low};
  return pair_at(in_each_lane(kRelativeZeta, arguments), 0);
}

// (1 / d) (2 / d) ... (count / d) total / d. No product of the first factors is out of range where
// the result is not, but its lower part may be: it is computed larger or smaller. A total is small
// only where d is nearly 1/2, and the factors together are below 2^1300.
Floats times_factors(Floats d, Floats count, Pair total) {
  const Pair inverse = reciprocal(d);
  const Floats one = d.constant(1);
  const Floats coarse = repeated(
      {one, inverse.high * 0x1p-300}, [&](const Results& v) { return v[0] <= count; },
      [&](const Results& v) { return Results{v[0] + 1, v[1] * (v[0] * inverse.high)}; })[1];
  const Mask large = coarse > 0x1p100, small = coarse < 0x1p-800;
  const Floats there = select(large, 0x1p-300, select(small, 0x1p300, one));
  const Floats back = select(large, 0x1p300, select(small, 0x1p-300, one));
  const Pair start = product(inverse, there);
  const Results factors = repeated(
      {one, start.high, start.low}, [&](const Results& v) { return v[0] <= count; },
      [&](const Results& v) {
        const Pair next = product(pair_at(v, 1), product(inverse, v[0]));
        return Results{v[0] + 1, next.high, next.low};
      });
  const Floats value = rounded(product(pair_at(factors, 1), total)) * back;
  return select(coarse > 0x1p1000, copysign(d.infinity(), total.high), value);
}

// Of a d below 2^-600 the other terms are 0 as they are of 2^-600, whose inverse is a number.
Floats not_too_small(Floats d) { return select(d < 0x1p-600, 0x1p-600, d); }

// From 1 on the sum's size, about x / n, is taken out of it, and a factor n / x is left out.
Floats of_positive(Floats n, Floats x) {
  const Floats nearest = not_too_small(x);
  const Pair total = zeta(n + 1, nearest, {nearest, x.constant(0)});
  const Mask below = x < 1;
  const Pair smaller = product(product(total, reciprocal(x)), n);
  const Pair used{select(below, total.high, smaller.high), select(below, total.low, smaller.low)};
  return times_factors(x, select(below, n, n - 1), used);
}

// Below 0 there are numbers x + k on both sides: f, f + 1, ... above, and g, g + 1, ... below, of
// which those from 1 - x on are too many. One of f and g is d, the other 1 - d.
Floats of_negative(Floats n, Floats size, Mask odd) {
  const Floats fraction = size - round(size), d = fabs(fraction), s = n + 1;
  const Floats one = n.constant(1);
  const Floats nearest = not_too_small(d);
  const Pair near = zeta(s, nearest, {nearest, n.constant(0)});
  const Pair far = zeta(s, nearest, exact_sum_ordered(one, -d));
  const Pair beyond = zeta(s, nearest, exact_sum(one, size));
  const Mask above = fraction < 0;  // f is d
  const auto chosen = [&](Pair yes, Pair no) {
    return Pair{select(above, yes.high, no.high), select(above, yes.low, no.low)};
  };
  const Pair of_f = chosen(near, far), of_g = chosen(far, near);
  const auto signed_by_order = [&](Pair part) {
    return Pair{select(odd, part.high, -part.high), select(odd, part.low, -part.low)};
  };
  // Midway between two poles f's and g's parts are the same: what is left of them is exactly 0, and
  // the part beyond is all there is.
  const Pair both = sum(of_f, signed_by_order(of_g));
  return times_factors(d, n, sum(both, signed_by_order(negated(beyond))));
}

Results polygamma_of_double(Arguments arguments) {
  const Floats n = arguments[0], x = arguments[1], size = fabs(x);
  const Floats half = n * 0.5;
  const Mask odd = floor(half) != half;
  const Mask positive_order = (n >= 1) & (n <= kHighestOrder);
  const Mask usable = positive_order & (floor(n) == n);
  const Mask finite = size < x.infinity();
  const Mask whole = finite & (x <= 0) & (trunc(x) == x);
  const Mask regular = usable & finite & !whole;
  const auto of_regular = [&] {
    const Results value = either(
        x > 0, [&] { return Results{of_positive(n, x)}; },
        [&] { return Results{of_negative(n, size, odd)}; });
    return Results{select(odd, value[0], -value[0])};
  };
  const auto of_others = [&] {
    const auto special = [&] {
      const Floats of_zero = copysign(x.infinity(), -x);
      const Floats even_pole = select(x == 0, of_zero, x.nan());
      const Floats pole = select(odd, x.infinity(), even_pole);
      const Floats end = select(x == x.infinity(), 0, x.nan());
      return Results{select(usable, select(whole, pole, end), x.nan())};
    };
    return either(n == 0, [&] { return Results{digamma(x)}; }, special);
  };
  return either(regular, of_regular, of_others);
}

constexpr ScalarFunction kPolygamma{"polygamma", 1, polygamma_of_double};

}  // namespace

Floats polygamma(Floats order, Floats x) {
  if (x.context().features.has_library) return library_call("polygamma", order, x);
  const Floats arguments[] = {order, x};
  return in_each_lane(kPolygamma, arguments)[0];
}

}  // namespace adjit::emit::elementary
