// jit/emit/math/logarithms.cpp -- logarithms and powers: x = 2^k (1 + f), a polynomial in f or in f
// / (2
// + f).
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

#include <numbers>
#include <optional>
#include <span>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/pairs.hpp"
#include "jit/emit/math/polynomials.hpp"

namespace adjit::emit::elementary {
namespace {

/// x = 2^k m, with m around 1.
struct Split {
  Floats k;
  Floats m;
};

/// log(x) = k ln 2 + f + tail; the tail is small beside f.
struct LogParts {
  Floats k;
  Floats f;
  Floats tail;
};

// The least m of a split, as bits of a float: 0.67, so that f log2(e) is below 1/2 and log10 at
// least 1/8 where k is not 0, and 3/4, from which on f of log1p is exact.
constexpr int64_t kNearTwoThirds = 0x3f2b851f, kThreeQuarters = 0x3f400000;

// Of a positive normal number, with m from `least` to twice that; in double from sqrt(1/2).
Split split(Floats x, int64_t least = kNearTwoThirds) {
  const bool d = x.is_double();
  const int mantissa = d ? 52 : 23;
  const int64_t lowest = d ? 0x3fe6a09e00000000 : least;
  const Ints above = x.bits() - lowest;
  const Ints exponent = above & -(int64_t{1} << mantissa);
  // k + bias, non-negative, lies in the mantissa of 2^mantissa + k + bias.
  const int bias = d ? 1024 : 128;
  const double offset = d ? 0x1p52 : 0x1p23;
  const Ints biased = (above + (int64_t{bias} << mantissa)) >> mantissa;
  const Floats k = (biased | (int64_t{d ? 1075 : 150} << mantissa)).as_floats() - (offset + bias);
  return {k, (x.bits() - exponent).as_floats()};
}

// Of any positive number.
Split split_subnormal(Floats x) {
  const bool d = x.is_double();
  const Mask subnormal = x < (d ? 0x1p-1022 : 0x1p-126);
  const Split s = split(select(subnormal, x * (d ? 0x1p54 : 0x1p24), x));
  return {s.k - select(subnormal, x.constant(d ? 54 : 24), x.constant(0)), s.m};
}

/// log(1 + f) - f = s factor - half_square, in double.
struct LongTail {
  Floats half_square, s, factor;
};

// log(1 + f) = 2 atanh(s), and 2 s = f - s f (fdlibm)
LongTail long_tail(Floats f) {
  const Floats s = f / (2 + f);
  const Floats z = s * s;
  const Floats half_square = f * f * 0.5;
  return {half_square, s, half_square + z * polynomial(z, polynomials::kF64Log)};
}

// log(1 + f) - f, in float with the coefficients of a range of f.
Floats log_tail(Floats f, std::span<const double> coefficients) {
  if (!f.is_double()) {
    const Floats factor = multiply_add(polynomial(f, coefficients), f, -0.5);
    return f * f * factor;
  }
  const LongTail tail = long_tail(f);
  return multiply_add(tail.s, tail.factor, -tail.half_square);
}

LogParts log_parts(Split x) {
  const Floats f = x.m - 1;
  return {x.k, f, log_tail(f, polynomials::kF32Log)};
}

constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
constexpr double kLog10Of2High = 3.01029995663611771306e-01,
                 kLog10Of2Low = 3.69423907715893078616e-13;

Floats natural(LogParts p) {
  if (!p.f.is_double()) return multiply_add(p.k, std::numbers::ln2, p.f + p.tail);
  return multiply_add(p.k, kLn2High, p.f + multiply_add(p.k, kLn2Low, p.tail));
}

// log(0) = -inf, log(inf) = inf, NaN below 0; `result` for the rest.
Floats with_special_values(Floats x, Floats result) {
  const Floats finite = select(x < x.infinity(), result, x);
  const Floats defined = select(x < 0, x.nan(), finite);
  return select(x == 0, -x.infinity(), defined);
}

/// A number as its nearest float and the rest.
struct Constant {
  double high, low;
};
Constant constant(Floats x, long double value) {
  const double high =
      x.is_double() ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
  return {high, static_cast<double>(value - static_cast<long double>(high))};
}

// exponent + f high + f P(f) in float, where exponent.high has few bits: the first sum's rounding
// error is added to the rest, so that nearly the last addition alone rounds.
Floats scaled(Pair exponent, Floats f, double high, std::span<const double> coefficients) {
  const Floats sum = multiply_add(f, high, exponent.high);
  const Floats error = multiply_add(f, high, exponent.high - sum);
  const Floats low = exponent.low + error;
  return sum + multiply_add(f, polynomial(f, coefficients), low);
}

// (f + tail) * factor in double, nearly rounded once.
Floats times(LogParts p, Constant factor, Floats more) {
  const Floats low = multiply_add(p.f, factor.low, multiply_add(p.tail, factor.high, more));
  return multiply_add(p.f, factor.high, low);
}

}  // namespace

Floats log(Floats x) { return with_special_values(x, natural(log_parts(split_subnormal(x)))); }

Floats log2(Floats x) {
  const Split parts = split_subnormal(x);
  const Constant factor = constant(x, std::numbers::log2e_v<long double>);
  if (!x.is_double()) {
    const Floats low = x.constant(-0.0);  // whose addition LLVM drops
    return with_special_values(
        x, scaled({parts.k, low}, parts.m - 1, factor.high, polynomials::kF32Log2));
  }
  const Floats f = parts.m - 1;
  const LongTail tail = long_tail(f);
  if (!x.context().features.fma) {  // a product of f alone would be the larger for its rounding
    const Floats log = f + (tail.s * tail.factor - tail.half_square);
    const Floats low = log * factor.low;
    return with_special_values(x, parts.k + (log * factor.high + low));
  }
  const Floats f_low = f * factor.low;
  const Floats rest = multiply_add(tail.s * tail.factor, factor.high, f_low);
  const Floats low = multiply_add(tail.half_square, -factor.high, rest);
  return with_special_values(x, parts.k + multiply_add(f, factor.high, low));
}

Floats log10(Floats x) {
  const Split parts = split_subnormal(x);
  const Constant factor = constant(x, std::numbers::log10e_v<long double>);
  if (!x.is_double()) {
    const Pair exponent{parts.k * 0x1.344p-2, parts.k * 0x1.3509f8p-18};
    return with_special_values(x,
                               scaled(exponent, parts.m - 1, factor.high, polynomials::kF32Log10));
  }
  const LogParts p = log_parts(parts);
  return with_special_values(
      x, multiply_add(p.k, kLog10Of2High, times(p, factor, p.k * kLog10Of2Low)));
}

// With high = 2^k m exactly, f = (m - 1) + low / 2^k.
Floats log_of_sum(Pair x, Floats extra, bool keep_rest) {
  const Split s = split(x.high, kThreeQuarters);
  const Floats k = select(s.k < 100, s.k, 100);  // beyond, `low` is below notice
  const Floats high = s.m - 1, scale = power_of_two(-k);
  const Floats f = multiply_add(x.low, scale, high);
  Floats tail = log_tail(f, polynomials::kF32Log1p);
  if (keep_rest) tail = tail + multiply_add(x.low, scale, high - f);
  return with_special_values(x.high, natural({s.k + extra, f, tail}));
}

Floats log1p(Floats x) {
  const Floats result = log_of_sum(exact_sum(x.constant(1), x), x.constant(0));
  return select(x == 0, x, result);  // keeps -0
}

namespace {

// |x|^y of finite x > 0 and float y, by way of doubles: their precision makes the product's error
// invisible.
Floats positive_power_f32(Floats x, Floats y) {
  llvm::IRBuilder<>& b = x.context().builder;
  llvm::Type* wide = b.getDoubleTy();
  if (x.lanes()) wide = llvm::FixedVectorType::get(wide, x.lanes());
  const Floats base(x.context(), b.CreateFPExt(x.value(), wide));
  const Floats exponent(x.context(), b.CreateFPExt(y.value(), wide));
  const Floats power = exp2(log2(base) * exponent);
  return {x.context(), b.CreateFPTrunc(power.value(), x.value()->getType())};
}

}  // namespace

// The first two terms of 2 atanh(s) = 2 s + 2/3 s^3 + ... in pairs, the rest
// is small enough.
Pair log_pair(Floats x) {
  const Split split = split_subnormal(x);
  const Floats f = split.m - 1;  // exact
  const Pair denominator = exact_sum_ordered(f.constant(2), f);
  const Floats s = f / denominator.high;
  const Floats of_low = s * denominator.low;
  const Floats s_low = (fused(-s, denominator.high, f) - of_low) / denominator.high;
  const Pair s_pair{s, s_low};
  const Pair z = product(s_pair, s_pair);
  const Pair two_thirds{f.constant(0x1.5555555555555p-1), f.constant(0x1.5555555555555p-55)};
  const Pair cube = product(product(z, s_pair), two_thirds);
  const Floats p = polynomial(z.high, polynomials::kF64LogSecond);
  const Floats rest = z.high * z.high * s * p;
  const Pair linear{s * 2, s_low * 2};
  const Pair mantissa = sum(linear, {cube.high, cube.low + rest});
  const Pair ln2{f.constant(0x1.62e42fefa39efp-1), f.constant(0x1.abc9e3b39803fp-56)};
  const Pair whole = exact_product(split.k, ln2.high);
  return sum({whole.high, multiply_add(split.k, ln2.low, whole.low)}, mantissa);
}

namespace {

Floats positive_power_f64(Floats x, Floats y) {
  const Pair log = log_pair(x);
  const Floats high = log.high * y;
  const Floats low = multiply_add(log.low, y, fused(log.high, y, -high));
  // Out of range either way; y or the product may be infinite and the low part NaN.
  const Floats at_least = select(high < -760, -760, high);
  const Floats bounded = select(high > 720, 720, at_least);
  const Floats bounded_low = select(fabs(high) < 800, low, 0);
  return exp_times({bounded, bounded_low}, x.constant(1));
}

}  // namespace

Floats pow(Floats x, Floats y) {
  if (const std::optional<int> quarters = quarters_of(y)) return quarter_power(x, *quarters);
  const Floats a = fabs(x);
  const Floats infinite = x.infinity();
  Floats result = x.is_double() ? positive_power_f64(a, y) : positive_power_f32(a, y);
  // 0 and infinity, as base or exponent, give 0 or infinity.
  const Mask grows_with_y = a > 1;
  const Mask positive_y = y > 0;
  const Mask number = a == a;
  const Mask extreme_y = (fabs(y) == infinite) & number;
  const Mask infinite_a = a == infinite;
  const Mask extreme = (a == 0) | infinite_a | extreme_y;
  const Mask same{x.context(),
                  x.context().builder.CreateICmpEQ(grows_with_y.value(), positive_y.value())};
  const Floats limit = select(same, infinite, x.constant(0));
  result = select(extreme & (y == y), limit, result);
  result = select(a == 1, 1, result);
  // Negative bases need an integer exponent, which decides the sign.
  const Floats half = y * 0.5;
  const Mask integer = trunc(y) == y;
  const Mask odd = integer & (trunc(half) != half);
  const Floats negated = -result;
  result = select(odd & sign_bit(x), negated, result);
  const Mask fraction = !integer;
  const Mask finite = a < infinite;
  result = select((x < 0) & finite & fraction, x.nan(), result);
  result = select(is_nan(x), x, result);  // the split into k and m loses it
  const Mask zero_y = y == 0;
  return select((x == 1) | zero_y, 1, result);
}

}  // namespace adjit::emit::elementary
