// jit/emit/math/trigonometry.cpp -- circular functions and their inverses.
#include <numbers>
#include <optional>
#include <span>

#include "jit/emit/ir/outlined.hpp"
#include "jit/emit/ir/scalar_functions.hpp"
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/polynomials.hpp"

namespace adjit::emit::elementary {
namespace {

/// x = n pi / 2 + r + low with |r| <= pi / 4; |low| is at most half a unit of r, whatever x is.
struct Quarter {
  Ints n;  // in the low bits
  Floats r;
  std::optional<Floats> low;  // where r alone is not enough
  // Lanes whose r and low are too far off: quarter_turns_in_pairs has them.
  std::optional<Mask> doubtful = {};
};

// pi / 2 in three parts. Integers times a first part, up to kLargest below, leave a multiple of the
// last place of x or of the first part: nothing is rounded.
struct QuarterParts {
  double first, second, third;
};
constexpr QuarterParts kQuarterF32{0x1.921fb0p+0, 0x1.5110b4p-22, 0x1.846988p-48},
    kQuarterF64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
constexpr double kLargestF32 = 0x1p15, kLargestF64 = 0x1p30;

// x - n first, exactly.
Floats minus_first_part(Floats x, Floats n, double first) {
  if (x.context().features.fma) return fused(n.constant(-first), n, x);
  const Pair product = exact_product(n, n.constant(first));
  return (x - product.high) - product.low;
}

// Beside a multiple of pi / 2 the first two differences cancel (down to 2^-61 in double), so that
// every bit of n second counts: the product is exact, and so is its upper half's difference to
// what the first part leaves. (That is a multiple of 2^-53, or of 2^-24 in float, which a unit of
// the product divides: then the short form of the exact sum serves whichever of the two is larger;
// Muller et al., Handbook of Floating-Point Arithmetic, 2018, section 4.3.1.) Rounded are the small
// parts alone: to 2^-131, or 2^-55.
Quarter quarter_turns_in_pairs(Floats x) {
  const QuarterParts& parts = x.is_double() ? kQuarterF64 : kQuarterF32;
  const auto [n, bits] = nearest_integer(x, 2 / std::numbers::pi);
  const Floats rest = minus_first_part(x, n, parts.first);
  const Pair second = exact_product(n, n.constant(parts.second));
  const Pair large = exact_sum_ordered(rest, -second.high);
  const Floats small = multiply_add(n, n.constant(-parts.third), large.low - second.low);
  const Pair reduced = exact_sum_ordered(large.high, small);
  return {bits, reduced.high, reduced.low};
}

// As in pairs where the first difference does not cancel: the second one's rounding error is then
// the difference of neighbouring numbers, and exact.
Quarter quarter_turns(Floats x) {
  if (!x.context().features.fma) return quarter_turns_in_pairs(x);
  const QuarterParts& parts = x.is_double() ? kQuarterF64 : kQuarterF32;
  const auto [n, bits] = nearest_integer(x, 2 / std::numbers::pi);
  const Floats rest = minus_first_part(x, n, parts.first);
  const Floats second = n.constant(-parts.second);
  const Floats r = fused(second, n, rest);
  const Floats low = fused(n.constant(-parts.third), n, fused(second, n, rest - r));
  const Floats cancelled = fabs(n) * (4 * parts.second);
  return {bits, r, low, fabs(r) < cancelled};
}

// In float each part can be subtracted with one rounding: enough for sine and cosine.
Quarter rounded_quarter_turns(Floats x) {
  if (x.is_double()) return quarter_turns(x);
  const auto [n, bits] = nearest_integer(x, 2 / std::numbers::pi);
  Floats r = fused(n.constant(-kQuarterF32.first), n, x);
  r = fused(n.constant(-kQuarterF32.second), n, r);
  return {bits, fused(n.constant(-kQuarterF32.third), n, r), {}};
}

Floats sin_of_reduced(const Quarter& q) {
  const Floats z = q.r * q.r;
  const Floats tail = polynomial(z, by_type(z, polynomials::kF32Sin, polynomials::kF64Sin));
  if (!q.low) return multiply_add(q.r * z, tail, q.r);
  return q.r + multiply_add(q.r * z, tail, *q.low);
}

// In float what is behind r makes a third of a unit at most.
Floats cos_of_reduced(const Quarter& q) {
  const Floats z = q.r * q.r;
  const Floats tail = polynomial(z, by_type(z, polynomials::kF32Cos, polynomials::kF64Cos));
  if (!z.is_double()) return multiply_add(z, multiply_add(z, tail, -0.5), 1);
  const Floats half = z * 0.5;
  const Floats main = 1 - half;
  const Floats of_low = -(q.r * *q.low);
  const Floats rest = multiply_add(z * z, tail, of_low);
  return main + (((1 - main) - half) + rest);
}

// Flips the sign where bit 1 of n is set.
Floats negate_if_second_bit(Floats x, Ints n) {
  const int to_sign = x.is_double() ? 62 : 30;
  const Ints flipped = (n & 2) << to_sign;
  return (x.bits() ^ flipped).as_floats();
}

Results sine_and_cosine(Floats x, const Quarter& q) {
  const Floats sine = sin_of_reduced(q), cosine = cos_of_reduced(q);
  const Mask even = (q.n & 1) == 0;
  const Floats s = negate_if_second_bit(select(even, sine, cosine), q.n);
  const Floats of_sine = select(fabs(x) < 0x1p-30, x, s);  // keeps -0
  const Ints next = q.n + 1;
  return {of_sine, negate_if_second_bit(select(even, cosine, sine), next)};
}

Results tangent(Floats x, const Quarter& q) {
  const Floats sine = sin_of_reduced(q), cosine = cos_of_reduced(q);
  const Mask even = (q.n & 1) == 0;
  const Floats denominator = select(even, cosine, sine);
  const Floats value = select(even, sine, -cosine) / denominator;
  return {select(fabs(x) < 0x1p-30, x, value)};
}

Mask is_large(Floats x) {
  const Floats size = fabs(x);
  const Mask finite = size < size.infinity();
  return (size > (x.is_double() ? kLargestF64 : kLargestF32)) & finite;
}

using Reduce = Quarter (*)(Floats);
using OfReduced = Results (*)(Floats x, const Quarter& reduced);

template <Reduce reduce, OfReduced polynomials>
Quick quick(Arguments arguments) {
  const Floats x = arguments[0];
  const Quarter reduced = reduce(x);
  const Mask large = is_large(x);
  return {polynomials(x, reduced), reduced.doubtful ? large | *reduced.doubtful : large};
}

// Of large arguments, of any size, by a function of the module.
template <OfReduced polynomials>
Results of_far(Arguments x) {
  const FarQuarters far = far_quarters(x[0]);
  return polynomials(x[0], {far.n, far.angle.high, far.angle.low});
}

struct Far {
  ScalarFunction in_module;
  std::span<const char* const> in_library;  // one name for each result
};

Results far_results(const Far& far, Floats x) {
  if (!x.context().features.has_library) return in_each_lane(far.in_module, {&x, 1});
  Results called;
  for (const char* name : far.in_library) called.push_back(library_call(name, x));
  return called;
}

// The reduction in pairs where the quick one is doubtful, and beyond it the far one.
template <Reduce reduce, OfReduced polynomials>
Results exact(Floats x, const Far& far) {
  const Quarter reduced = reduce(x);
  Results found = polynomials(x, reduced);
  if (reduced.doubtful)
    found = mixed(*reduced.doubtful, polynomials(x, quarter_turns_in_pairs(x)), found);
  const Mask large = is_large(x);
  return unless_any(large, found, [&] { return mixed(large, far_results(far, x), found); });
}

constexpr const char* kSineAndCosine[] = {"sin", "cos"};
constexpr Far kFarSineCosine{{"far_sincos", 2, of_far<sine_and_cosine>}, kSineAndCosine};
constexpr const char* kTangentAlone[] = {"tan"};
constexpr Far kFarTangent{{"far_tan", 1, of_far<tangent>}, kTangentAlone};

const Outlined kSineCosine{
    "sincos", 2, quick<rounded_quarter_turns, sine_and_cosine>, [](Arguments x) {
      return exact<rounded_quarter_turns, sine_and_cosine>(x[0], kFarSineCosine);
    }};
// The reduced argument of a tangent must not be rounded: it is the numerator's and the
// denominator's.
const Outlined kTangent{"tan", 1, quick<quarter_turns, tangent>, [](Arguments x) {
                          return exact<quarter_turns, tangent>(x[0], kFarTangent);
                        }};

/// A number as its nearest float and the rest.
Pair constant_pair(Floats x, long double value) {
  const double high =
      x.is_double() ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
  return {x.constant(high),
          x.constant(static_cast<double>(value - static_cast<long double>(high)))};
}

constexpr long double kPi = std::numbers::pi_v<long double>;

// atan(t) - t for |t| <= 1
Floats atan_tail(Floats t) {
  const Floats z = t * t;
  const Floats p = polynomial(z, by_type(t, polynomials::kF32Atan, polynomials::kF64Atan));
  return t * z * p;
}

// asin(x) - x for x^2 = z <= 1/4
Floats asin_tail(Floats x, Floats z) {
  const Floats p = polynomial(z, by_type(x, polynomials::kF32Asin, polynomials::kF64Asin));
  return x * z * p;
}

/// asin of |x| as an angle: directly up to 1/2, beyond as pi / 2 - 2 asin(s) with s = sqrt((1 -
/// |x|) / 2).
struct ArcSine {
  Mask direct;
  Floats t;     // |x| or s
  Floats tail;  // asin(t) - t
};
ArcSine arc_sine(Floats x) {
  const Floats a = fabs(x);
  const Mask direct = a <= 0.5;
  const Floats beyond = (1 - a) * 0.5;
  const Floats z = select(direct, a * a, beyond);
  const Floats t = select(direct, a, sqrt(z));
  return {direct, t, asin_tail(t, z)};
}

}  // namespace

Floats sin(Floats x) { return outlined_result(kSineCosine, {&x, 1}, 0); }
Floats cos(Floats x) { return outlined_result(kSineCosine, {&x, 1}, 1); }
Floats tan(Floats x) { return outlined_result(kTangent, {&x, 1}, 0); }

Floats asin(Floats x) {
  const ArcSine s = arc_sine(x);
  const Pair quarter = constant_pair(x, kPi / 2);
  const Floats low = s.tail * 2 - quarter.low;
  const Floats beyond = quarter.high - (s.t * 2 + low);
  return copysign(select(s.direct, s.t + s.tail, beyond), x);
}

Floats acos(Floats x) {
  const ArcSine s = arc_sine(x);
  const Pair quarter = constant_pair(x, kPi / 2), half = constant_pair(x, kPi);
  const Mask negative = sign_bit(x);
  const Floats t = copysign(s.t, x), tail = copysign(s.tail, x);
  const Floats direct = quarter.high - (t + (tail - quarter.low));
  const Floats twice_tail = s.tail * 2;
  const Floats twice = s.t * 2 + twice_tail;
  const Floats beyond = select(negative, half.high - (twice - half.low), twice);
  return select(s.direct, direct, beyond);
}

Floats atan(Floats x) {
  const Floats a = fabs(x);
  const Mask steep = a > 1;
  const Floats denominator = select(steep, a, 1);
  const Floats t = select(steep, x.constant(-1), a) / denominator;
  const Pair quarter = constant_pair(x, kPi / 2);
  const Floats tail = atan_tail(t);
  const Floats beyond = quarter.high + (t + (tail + quarter.low));
  return copysign(select(steep, beyond, t + tail), x);
}

Floats atan2(Floats y, Floats x) {
  const Floats a = fabs(y), b = fabs(x);
  const Mask steep = a > b;
  const Floats small = select(steep, b, a), large = select(steep, a, b);
  // 0 / 0 counts as 0 and inf / inf as 1, as C defines.
  Floats t = small / large;
  t = select(large == 0, 0, t);
  t = select(small == small.infinity(), 1, t);
  const Mask behind = sign_bit(x);
  const Pair quarter = constant_pair(x, kPi / 2), half = constant_pair(x, kPi);
  // The angle of (b, a) is atan(t) or pi / 2 - atan(t); behind, pi minus that.
  const Floats tail = atan_tail(t);
  const Mask subtract{x.context(), x.context().builder.CreateXor(steep.value(), behind.value())};
  const Floats base = select(steep, quarter.high, select(behind, half.high, 0));
  const Floats base_low = select(steep, quarter.low, select(behind, half.low, 0));
  const Floats signed_t = select(subtract, -t, t), signed_tail = select(subtract, -tail, tail);
  const Floats angle = base + (signed_t + (signed_tail + base_low));
  const Floats direct = t + tail;
  const Floats plain = select(steep | behind, angle, direct);
  const Floats nan = x + y;
  const Mask nan_in_y = is_nan(y);
  const Floats with_nan = select(is_nan(x) | nan_in_y, nan, plain);
  const Floats with_sign = copysign(with_nan, y);
  return select(is_nan(with_nan), with_nan, with_sign);
}

}  // namespace adjit::emit::elementary
