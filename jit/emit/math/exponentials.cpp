// jit/emit/math/exponentials.cpp -- e^x and its kin: x = n ln 2 + r, a polynomial in r, a scaling
// by 2^n.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/polynomials.hpp"

namespace adjit::emit::elementary {
namespace {

using polynomials::kF32Exp, polynomials::kF64Exp, polynomials::kF32Exp2, polynomials::kF64Exp2;

// Adding it pushes the fraction out of the mantissa: the sum's low bits are the nearest integer.
double shifter(Floats x) { return x.is_double() ? 0x1.8p52 : 0x1.8p23; }

// NaN stays: each is one min or max instruction.
Floats clamp(Floats x, double low, double high) {
  const Floats below = select(x > high, high, x);
  return select(below < low, low, below);
}

struct Reduction {
  Floats n;
  Floats r;
};

// x - n ln 2. The high part of ln 2 ends in zeros, so that its products with n are exact.
Floats less_multiple_of_ln2(Floats x, Floats n) {
  const double high = x.is_double() ? 6.93147180369123816490e-01 : 0x1.62e4p-1;
  const double low = x.is_double() ? 1.90821492927058770002e-10 : 0x1.7f7d1cp-20;
  return multiply_add(n, -low, multiply_add(n, -high, x));
}

Reduction reduce(Floats x) {
  const Floats n = nearest_integer(x, std::numbers::log2e).value;
  return {n, less_multiple_of_ln2(x, n)};
}

// e^r - 1
Floats exp_minus_one_of_reduced(Floats r) {
  const Floats p = polynomial(r, by_type(r, kF32Exp, kF64Exp));
  return multiply_add(r * r, p, r);
}

Floats scale_register(Floats p, Floats n, llvm::Intrinsic::ID id) {
  llvm::IRBuilder<>& b = p.context().builder;
  const bool full = p.lanes() * p.value()->getType()->getScalarSizeInBits() == 512;
  llvm::Type* mask = b.getIntNTy(std::max(8u, p.lanes()));
  std::vector<llvm::Value*> arguments{p.value(), n.value(), p.value(),
                                      llvm::Constant::getAllOnesValue(mask)};
  if (full) arguments.push_back(b.getInt32(4));  // the current rounding mode
  return {p.context(), b.CreateIntrinsic(id, {}, arguments)};
}

// 2^(k / 16) for k of 0 .. 15 in the last bits of `numbers`, of one register.
Floats sixteenth_power(Ints numbers) {
  llvm::IRBuilder<>& b = numbers.context().builder;
  llvm::SmallVector<llvm::Constant*, 16> powers;
  for (int k = 0; k < 16; ++k)
    powers.push_back(llvm::ConstantFP::get(b.getFloatTy(), std::exp2(k / 16.0)));
  const auto table = [&](size_t first, size_t count) {
    return llvm::ConstantVector::get(llvm::ArrayRef(powers).slice(first, count));
  };
  if (llvm::cast<llvm::FixedVectorType>(numbers.value()->getType())->getNumElements() == 16)
    return {numbers.context(), b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                                 {table(0, 16), numbers.value()})};
  return {numbers.context(), b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_256, {},
                                               {table(0, 8), numbers.value(), table(8, 8)})};
}

// x between -most and most, of a register of 8 or 16 floats, by one instruction; NaN becomes a
// number between these.
Floats within(Floats x, double most) {
  llvm::IRBuilder<>& b = x.context().builder;
  constexpr uint32_t kLeastMagnitude = 2;  // of both operands, with the sign of the first
  std::vector<llvm::Value*> arguments{x.value(), x.constant(most).value(),
                                      b.getInt32(kLeastMagnitude), x.value(),
                                      llvm::Constant::getAllOnesValue(b.getIntNTy(x.lanes()))};
  const bool full = x.lanes() == 16;
  if (full) arguments.push_back(b.getInt32(4));  // the current rounding mode
  return {x.context(), b.CreateIntrinsic(full ? llvm::Intrinsic::x86_avx512_mask_range_ps_512
                                              : llvm::Intrinsic::x86_avx512_mask_range_ps_256,
                                         {}, arguments)};
}

// e^x of a register of 8 or 16 floats, with x = n ln 2 + r for an n in sixteenths:
// 2^floor(n) * 2^(n - floor(n)), from a table, * e^r, of a polynomial three degrees shorter. Where
// n alone makes the result 0, infinite or NaN, r is a number within its range, whichever.
Floats exp_in_register(Floats x) {
  constexpr double kShifter = 0x1.8p19;  // leaves four bits behind the point
  constexpr double kMost = 0x1.8p-6;     // a little more than ln 2 / 32
  const bool bounded = x.context().features.avx512dq;
  if (!bounded) x = clamp(x, -104, 89);
  const Floats shifted = multiply_add(x, std::numbers::log2e, kShifter);
  const Floats n = shifted - kShifter;
  const Floats rest = less_multiple_of_ln2(x, n);
  const Floats r = bounded ? within(rest, kMost) : rest;
  const Floats p = polynomial(r, polynomials::kF32ExpStep);
  const Floats q = multiply_add(r * r, p, r);  // e^r - 1
  const Floats power = sixteenth_power(shifted.bits());
  return scale(multiply_add(power, q, power), n);
}

}  // namespace

Rounded nearest_integer(Floats x, double factor) {
  const Floats shifted = multiply_add(x, factor, shifter(x));
  return {shifted - shifter(x), shifted.bits()};
}

Floats power_of_two(Floats n) {
  return ((n + (shifter(n) + (n.is_double() ? 1023 : 127))).bits() << (n.is_double() ? 52 : 23))
      .as_floats();
}

// scalef takes the floor of n.
Floats scale(Floats p, Floats n) {
  const TargetFeatures& features = p.context().features;
  const unsigned bits = p.lanes() * p.value()->getType()->getScalarSizeInBits();
  const bool d = p.is_double();
  using namespace llvm::Intrinsic;
  if (features.avx512f && bits >= 512 && std::has_single_bit(bits)) {
    const ID id = d ? x86_avx512_mask_scalef_pd_512 : x86_avx512_mask_scalef_ps_512;
    const unsigned count = d ? 8 : 16;
    std::vector<Floats> parts;
    for (unsigned first = 0; first < p.lanes(); first += count) {
      const Floats exponents = part(n, first, count);
      parts.push_back(scale_register(part(p, first, count), exponents, id));
    }
    return concatenate(std::move(parts));
  }
  if (features.avx512vl && bits == 256)
    return scale_register(p, n, d ? x86_avx512_mask_scalef_pd_256 : x86_avx512_mask_scalef_ps_256);
  if (features.avx512vl && bits == 128)
    return scale_register(p, n, d ? x86_avx512_mask_scalef_pd_128 : x86_avx512_mask_scalef_ps_128);
  // In two steps, the first of them exact: 2^n itself may be out of range.
  const Floats half = nearest_integer(n, 0.5).value;
  const Floats rest = power_of_two(n - half);
  return p * power_of_two(half) * rest;
}

Floats exp(Floats x) {
  const TargetFeatures& features = x.context().features;
  if (!x.is_double() && features.avx512f)
    return by_registers(x, features.avx512vl ? 8 : 16, 16, exp_in_register);
  x = x.is_double() ? clamp(x, -746, 710) : clamp(x, -104, 89);
  const Reduction reduced = reduce(x);
  return scale(exp_minus_one_of_reduced(reduced.r) + 1, reduced.n);
}

Floats exp_times(Pair x, Floats factor) {
  const Reduction reduced = reduce(x.high);
  const Floats q = exp_minus_one_of_reduced(reduced.r + x.low);
  return scale(multiply_add(q, factor, factor), reduced.n);
}

Floats exp2(Floats x) {
  x = x.is_double() ? clamp(x, -1076, 1025) : clamp(x, -151, 129);
  const Floats n = nearest_integer(x, 1).value;
  const Floats r = x - n;
  const Floats p = polynomial(r, by_type(x, kF32Exp2, kF64Exp2));
  return scale(multiply_add(p, r, 1), n);
}

// 2^n (q + 1) - 1 = 2 (q h + (h - 1/2)) with q = e^r - 1 and h = 2^(n-1), which does not overflow
// before the result does. In double q is added in two parts, the first, r, almost exactly.
Floats expm1(Floats x) {
  const Floats clamped = clamp(x, -50, x.is_double() ? 710 : 89);
  const Reduction reduced = reduce(clamped);
  const Floats r = reduced.r;
  const Floats h = power_of_two(reduced.n - 1);
  const Floats below = h - 0.5;
  Floats half = below;
  if (x.is_double()) {
    const Floats with_r = multiply_add(r, h, below);
    const Floats p = polynomial(r, kF64Exp);
    half = multiply_add(r * r * p, h, with_r);
  } else {
    half = multiply_add(exp_minus_one_of_reduced(r), h, below);
  }
  const Floats whole = half * 2;
  return select(fabs(x) < (x.is_double() ? 0x1p-54 : 0x1p-25), x, whole);  // keeps -0
}

// e = e^-|x| does not overflow, and gives the small side its relative precision: e - e s with
// s = e / (1 + e), in which the errors of 1 + e and of the division are small beside e. In double
// the rounding errors of e and of 1 + e are corrected to first order.
Floats sigmoid(Floats x) {
  const Floats negative = -fabs(x);
  if (!x.is_double()) {
    const Floats e = exp(negative);
    const Floats from = select(x >= 0, 1, e);
    const Floats s = e / (1 + e);
    return multiply_add(-from, s, from);
  }
  const Reduction reduced = reduce(clamp(negative, -746, 0));
  const Floats q = exp_minus_one_of_reduced(reduced.r);
  const Pair p = exact_sum_ordered(q.constant(1), q);
  const Floats e = scale(p.high, reduced.n), e_low = scale(p.low, reduced.n);
  const Pair denominator = exact_sum_ordered(e.constant(1), e);
  const Floats small = e / denominator.high, rest = 1 - small;
  const Floats correction = multiply_add(e_low, rest, -(small * denominator.low));
  const Floats corrected = multiply_add(correction, rest, small);
  const Floats mirrored = 1 - corrected;
  return select(x >= 0, mirrored, corrected);
}

}  // namespace adjit::emit::elementary
