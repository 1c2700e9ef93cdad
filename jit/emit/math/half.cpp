// jit/emit/math/half.cpp -- by F16C where the CPU has it, else by integer arithmetic on the bits.
#include "jit/emit/math/half.hpp"

#include <llvm/IR/PatternMatch.h>

namespace adjit::emit {
namespace {

llvm::Type* like(llvm::Value* value, llvm::Type* element) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

Ints widen(const LaneContext& context, llvm::Value* bits) {
  llvm::IRBuilder<>& b = context.builder;
  return {context, b.CreateZExt(bits, like(bits, b.getInt32Ty()))};
}

llvm::Value* narrow(Ints bits) {
  llvm::IRBuilder<>& b = bits.context().builder;
  return b.CreateTrunc(bits.value(), like(bits.value(), b.getInt16Ty()));
}

Floats to_float(Floats x) {
  llvm::IRBuilder<>& b = x.context().builder;
  return {x.context(), b.CreateFPTrunc(x.value(), like(x.value(), b.getFloatTy()))};
}

// To float with the last bit set where the value is inexact ("round to odd"): the next rounding, to
// at most 22 bits, is then as good as one from the double.
Floats round_to_odd(Floats x) {
  llvm::IRBuilder<>& b = x.context().builder;
  const Floats nearest = to_float(x);
  const Floats back(x.context(), b.CreateFPExt(nearest.value(), x.value()->getType()));
  const auto one_where = [&](Mask mask) {
    return Ints(x.context(), b.CreateZExt(mask.value(), like(x.value(), b.getInt32Ty())));
  };
  const Floats size = fabs(x);
  const Ints one_too_many = one_where(fabs(back) > size);
  const Ints towards_zero = nearest.bits() - one_too_many;
  const Mask inexact{x.context(), b.CreateFCmpONE(back.value(), x.value())};
  return (towards_zero | one_where(inexact)).as_floats();
}

Floats select_by_bits(Mask mask, Ints yes, Ints no) {
  const Floats otherwise = no.as_floats();
  return select(mask, yes.as_floats(), otherwise);
}

// The bits that extend_bfloat made a value of, null of any other: they need no rounding. A body
// that ends in a cast is rounded there, and would be again where it is stored.
llvm::Value* extended_bfloat(Floats value) {
  namespace match = llvm::PatternMatch;
  llvm::Value* bits = nullptr;
  const auto wide = match::m_Shl(match::m_ZExt(match::m_Value(bits)), match::m_SpecificInt(16));
  if (!match::match(value.value(), match::m_BitCast(wide))) return nullptr;
  return bits->getType()->isIntOrIntVectorTy(16) ? bits : nullptr;
}

}  // namespace

llvm::Value* extend_half(const LaneContext& context, llvm::Value* bits) {
  llvm::IRBuilder<>& b = context.builder;
  if (context.features.f16c) {
    llvm::Value* half = b.CreateBitCast(bits, like(bits, b.getHalfTy()));
    return b.CreateFPExt(half, like(bits, b.getFloatTy()));
  }
  // The exponent and mantissa moved into float's places, and the difference of the biases added to
  // the exponent. Subnormal numbers get a leading bit first, which is subtracted again: no float on
  // the way is subnormal, since those may count as zeros. Infinity and NaN get float's largest
  // exponent instead.
  const Ints wide = widen(context, bits);
  const Ints magnitude = (wide & 0x7fff) << 13;
  const Ints normal = magnitude + (int64_t{112} << 23);
  const Floats subnormal = (magnitude + (int64_t{113} << 23)).as_floats() - 0x1p-14;
  const Ints small = subnormal.bits();
  const Floats finite = select_by_bits(magnitude.as_floats() < 0x1p-126, small, normal);
  const Mask special = magnitude.as_floats() >= 0x1p-96;
  const Ints ordinary = finite.bits();
  const Floats value = select_by_bits(special, magnitude | 0x7f800000, ordinary);
  const Ints sign = (wide & 0x8000) << 16;
  return (value.bits() | sign).as_floats().value();
}

llvm::Value* truncate_half(Floats value) {
  llvm::IRBuilder<>& b = value.context().builder;
  const Floats x = value.is_double() ? round_to_odd(value) : value;
  if (value.context().features.f16c) {
    llvm::Value* half = b.CreateFPTrunc(x.value(), like(x.value(), b.getHalfTy()));
    return b.CreateBitCast(half, like(x.value(), b.getInt16Ty()));
  }
  // Adding a power of two whose last place is half's rounds x to half's precision; the mantissa of
  // the sum and the exponent of that power make the bits (after Giesen).
  const Ints bits = x.bits();
  const Ints sign = (bits >> 16) & 0x8000;
  const Ints magnitude = bits & 0x7fffffff;
  const Floats size = magnitude.as_floats();
  const Ints subnormal = (size + 0.5).bits() - 0x3f000000;
  const Ints odd = (magnitude >> 13) & 1;
  const Ints normal = (magnitude + odd + (0xfff - (int64_t{112} << 23))) >> 13;
  const Floats finite = select_by_bits(size < 0x1p-14, subnormal, normal);
  const Ints rounded = finite.bits();
  const Floats bounded = select_by_bits(size >= 65520.0, bits.constant(0x7c00), rounded);
  const Ints quiet = ((magnitude >> 13) & 0x3ff) | 0x7e00;
  const Ints number = bounded.bits();
  const Floats any = select_by_bits(is_nan(x), quiet, number);
  return narrow(any.bits() | sign);
}

llvm::Value* extend_bfloat(const LaneContext& context, llvm::Value* bits) {
  return (widen(context, bits) << 16).as_floats().value();
}

llvm::Value* truncate_bfloat(Floats value) {
  if (llvm::Value* bits = extended_bfloat(value)) return bits;
  const Floats x = value.is_double() ? round_to_odd(value) : value;
  const Ints bits = x.bits();
  const Ints rounded = (bits + ((bits >> 16) & 1) + 0x7fff) >> 16;
  const Ints quiet = (bits >> 16) | 0x40;
  return narrow(select_by_bits(is_nan(x), quiet, rounded).bits());
}

}  // namespace adjit::emit
