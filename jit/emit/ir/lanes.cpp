// jit/emit/ir/lanes.cpp -- operators on values in registers.
#include "jit/emit/ir/lanes.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

#include "runtime/expr/error.hpp"

namespace adjit::emit {
namespace {

llvm::IRBuilder<>& builder(const auto& lanes) { return lanes.context().builder; }

llvm::Type* with_element(llvm::Type* type, llvm::Type* element) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

}  // namespace

Mask Mask::operator&(Mask other) const {
  return {*context_, context_->builder.CreateAnd(value_, other.value_)};
}
Mask Mask::operator|(Mask other) const {
  return {*context_, context_->builder.CreateOr(value_, other.value_)};
}
Mask Mask::operator!() const { return {*context_, context_->builder.CreateNot(value_)}; }

unsigned Floats::lanes() const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value_->getType());
  return vector ? vector->getNumElements() : 0;
}
Floats Floats::constant(double value) const {
  return {*context_, llvm::ConstantFP::get(value_->getType(), value)};
}
Floats Floats::infinity() const {
  return {*context_, llvm::ConstantFP::getInfinity(value_->getType())};
}
Floats Floats::nan() const { return {*context_, llvm::ConstantFP::getNaN(value_->getType())}; }
Ints Floats::bits() const {
  llvm::IRBuilder<>& b = context_->builder;
  llvm::Type* element = b.getIntNTy(value_->getType()->getScalarSizeInBits());
  return {*context_, b.CreateBitCast(value_, with_element(value_->getType(), element))};
}
Floats Floats::intrinsic(llvm::Intrinsic::ID id) const {
  return {*context_, context_->builder.CreateUnaryIntrinsic(id, value_)};
}

Ints Ints::constant(int64_t value) const {
  return {*context_, llvm::ConstantInt::get(value_->getType(), static_cast<uint64_t>(value), true)};
}
Floats Ints::as_floats() const {
  llvm::IRBuilder<>& b = context_->builder;
  llvm::Type* element =
      value_->getType()->getScalarSizeInBits() == 64 ? b.getDoubleTy() : b.getFloatTy();
  return {*context_, b.CreateBitCast(value_, with_element(value_->getType(), element))};
}

Ints operator+(Ints a, Ints b) { return {a.context(), builder(a).CreateAdd(a.value(), b.value())}; }
Ints operator-(Ints a, Ints b) { return {a.context(), builder(a).CreateSub(a.value(), b.value())}; }
Ints operator&(Ints a, Ints b) { return {a.context(), builder(a).CreateAnd(a.value(), b.value())}; }
Ints operator|(Ints a, Ints b) { return {a.context(), builder(a).CreateOr(a.value(), b.value())}; }
Ints operator^(Ints a, Ints b) { return {a.context(), builder(a).CreateXor(a.value(), b.value())}; }
Ints operator<<(Ints a, int64_t bits) {
  return {a.context(), builder(a).CreateShl(a.value(), a.constant(bits).value())};
}
Ints operator>>(Ints a, int64_t bits) {
  return {a.context(), builder(a).CreateLShr(a.value(), a.constant(bits).value())};
}

Mask operator==(Ints a, int64_t b) {
  return {a.context(), builder(a).CreateICmpEQ(a.value(), a.constant(b).value())};
}
Mask operator!=(Ints a, int64_t b) {
  return {a.context(), builder(a).CreateICmpNE(a.value(), a.constant(b).value())};
}
Mask is_negative(Ints a) {
  return {a.context(), builder(a).CreateICmpSLT(a.value(), a.constant(0).value())};
}

Floats operator+(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFAdd(a.value(), b.value())};
}
Floats operator-(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFSub(a.value(), b.value())};
}
Floats operator*(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFMul(a.value(), b.value())};
}
Floats operator/(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFDiv(a.value(), b.value())};
}
Floats operator-(Floats a) { return {a.context(), builder(a).CreateFNeg(a.value())}; }

Mask operator<(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFCmpOLT(a.value(), b.value())};
}
Mask operator<=(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFCmpOLE(a.value(), b.value())};
}
Mask operator==(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFCmpOEQ(a.value(), b.value())};
}
Mask operator!=(Floats a, Floats b) {
  return {a.context(), builder(a).CreateFCmpUNE(a.value(), b.value())};
}
Mask is_nan(Floats a) { return {a.context(), builder(a).CreateFCmpUNO(a.value(), a.value())}; }

Floats select(Mask condition, Floats yes, Floats no) {
  return {yes.context(), builder(yes).CreateSelect(condition.value(), yes.value(), no.value())};
}

Floats fabs(Floats a) { return a.intrinsic(llvm::Intrinsic::fabs); }
Floats copysign(Floats magnitude, Floats sign) {
  return {magnitude.context(), builder(magnitude).CreateBinaryIntrinsic(
                                   llvm::Intrinsic::copysign, magnitude.value(), sign.value())};
}
Mask sign_bit(Floats a) { return is_negative(a.bits()); }

namespace {

// Without FMA, below: a sum with the last bit set where it is inexact ("round to odd"), so that one
// more rounding to at least two bits fewer gives what a single one would have given.
Floats odd_sum(Floats a, Floats b) {
  llvm::IRBuilder<>& ir = builder(a);
  const Pair sum = exact_sum(a, b);
  const Ints bits = sum.high.bits();
  const Mask inexact{a.context(), ir.CreateFCmpONE(sum.low.value(), a.constant(0).value())};
  const Mask is_even = (bits & 1) == 0;
  // Away from zero where the rest has the sum's sign, else towards it.
  const Ints low_bits = sum.low.bits();
  const Ints signs = sum.high.bits() ^ low_bits;
  const Ints step = bits.constant(1) - ((signs >> 63) << 1);
  const Mask moved = inexact & is_even;
  return select(moved, (bits + step).as_floats(), sum.high);
}

Floats fused_in_double(Floats a, Floats b, Floats c) {
  llvm::IRBuilder<>& ir = builder(a);
  llvm::Type* type = with_element(a.value()->getType(), ir.getDoubleTy());
  const auto widened = [&](Floats x) {
    return Floats(x.context(), ir.CreateFPExt(x.value(), type));
  };
  const Floats wide = widened(b);
  const Floats product = widened(a) * wide;  // exact: 48 bits
  const Floats sum = odd_sum(product, widened(c));
  return {a.context(), ir.CreateFPTrunc(sum.value(), a.value()->getType())};
}

// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (2008), barring over- and
// underflow of the parts: where the result is not finite, it is rounded twice.
Floats fused_by_parts(Floats a, Floats b, Floats c) {
  const Pair product = exact_product(a, b);
  const Pair low = exact_sum(c, product.low);
  const Pair high = exact_sum(product.high, low.high);
  const Floats result = high.high + odd_sum(low.low, high.low);
  const Mask nonzero = result != 0;  // a zero has a sign
  const Mask usable = (fabs(result) < result.infinity()) & nonzero;
  return select(usable, result, a * b + c);
}

}  // namespace

Floats fused(Floats a, Floats b, Floats c) {
  if (!a.context().features.fma)
    return a.is_double() ? fused_by_parts(a, b, c) : fused_in_double(a, b, c);
  return {a.context(), builder(a).CreateIntrinsic(llvm::Intrinsic::fma, {a.value()->getType()},
                                                  {a.value(), b.value(), c.value()})};
}

Floats multiply_add(Floats a, Floats b, Floats c) {
  return a.context().features.fma ? fused(a, b, c) : a * b + c;
}

Floats polynomial(Floats x, std::span<const double> coefficients) {
  invariant(!coefficients.empty(), "a polynomial without coefficients");
  Floats value = x.constant(coefficients.back());
  for (size_t k = coefficients.size() - 1; k-- > 0;)
    value = multiply_add(value, x, coefficients[k]);
  return value;
}

// Knuth's and Dekker's sums.
Pair exact_sum(Floats a, Floats b) {
  const Floats sum = a + b;
  const Floats b_part = sum - a;
  const Floats b_rest = b - b_part;
  return {sum, (a - (sum - b_part)) + b_rest};
}
Pair exact_sum_ordered(Floats a, Floats b) {
  const Floats sum = a + b;
  return {sum, b - (sum - a)};
}
// Veltkamp's split: two halves of 26 bits whose products are exact.
Pair halves(Floats a) {
  const Floats scaled = a * 0x1p27 + a;
  const Floats high = scaled - (scaled - a);
  return {high, a - high};
}

Pair exact_product(Floats a, Floats b) {
  const Floats product = a * b;
  if (!a.context().features.fma) {
    if (!a.is_double()) return {product, fused_in_double(a, b, -product)};
    const Pair x = halves(a), y = halves(b);
    const Floats low_high = x.low * y.high;
    const Floats high_low = x.high * y.low;
    const Floats rest = ((x.high * y.high - product) + high_low) + low_high;
    return {product, rest + x.low * y.low};
  }
  return {product, fused(a, b, -product)};
}

Floats part(Floats x, unsigned first, unsigned count) {
  std::vector<int> lanes(count, llvm::PoisonMaskElem);
  for (unsigned k = 0; k < count && first + k < x.lanes(); ++k)
    lanes[k] = static_cast<int>(first + k);
  return {x.context(), builder(x).CreateShuffleVector(x.value(), lanes)};
}

Floats concatenate(std::vector<Floats> parts) {
  while (parts.size() > 1) {
    std::vector<int> lanes(2 * parts[0].lanes());
    std::iota(lanes.begin(), lanes.end(), 0);
    for (size_t k = 0; k < parts.size() / 2; ++k)
      parts[k] = {parts[0].context(), builder(parts[0]).CreateShuffleVector(
                                          parts[2 * k].value(), parts[2 * k + 1].value(), lanes)};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2), parts.end());
  }
  return parts[0];
}

Floats by_registers(Floats x, unsigned least, unsigned most, Floats (*f)(Floats)) {
  if (x.lanes() == 0) {
    const Floats spread(x.context(), builder(x).CreateVectorSplat(least, x.value()));
    return {x.context(), builder(x).CreateExtractElement(f(spread).value(), uint64_t{0})};
  }
  unsigned width = least;
  while (width < x.lanes()) width *= 2;
  const Floats padded = width == x.lanes() ? x : part(x, 0, width);
  std::vector<Floats> parts;
  const unsigned count = std::min(width, most);
  for (unsigned first = 0; first < width; first += count)
    parts.push_back(f(count == width ? padded : part(padded, first, count)));
  const Floats result = concatenate(std::move(parts));
  return width == x.lanes() ? result : part(result, 0, x.lanes());
}

}  // namespace adjit::emit
