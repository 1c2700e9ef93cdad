// jit/emit/math/far_reduction.cpp -- quarter turns of large arguments, in integers (Payne and
// Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983).
//
// x is m 2^e with an m of 53 bits. Of x (2 / pi) the integer part modulo 4 and 126 bits behind the
// point are wanted; a double comes as near as 2^-62 to a multiple of pi / 2. Bits of 2 / pi that
// give multiples of 4 with m are left out, and so are those beyond 192 behind them: they make less
// than 2^-137.
#include <llvm/IR/Constants.h>

#include <array>

#include "jit/emit/ir/scalar_functions.hpp"
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/pairs.hpp"

namespace adjit::emit::elementary {
namespace {

using llvm::Value;
constexpr unsigned kWords = 6;

// Words of 32 bits in numbers of 64.
Value* low_word(llvm::IRBuilder<>& b, Value* x) { return b.CreateAnd(x, 0xffffffff); }
Value* high_word(llvm::IRBuilder<>& b, Value* x) { return b.CreateLShr(x, 32); }

/// Six words of 2 / pi from this bit of the table on, the least significant first.
std::array<Value*, kWords> words_from(llvm::IRBuilder<>& b, Value* bit) {
  constexpr uint64_t kLastBit = 1033;  // of the largest double; infinity and NaN stay below it
  bit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bit, b.getInt64(0));
  bit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bit, b.getInt64(kLastBit));
  llvm::GlobalVariable* table = constant_table(
      b, "two_over_pi",
      llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef(pair_tables::kTwoOverPi)));
  Value* first = b.CreateLShr(bit, 5);
  Value* shift = b.CreateTrunc(b.CreateAnd(bit, 31), b.getInt32Ty());
  const auto word = [&](uint64_t k) {
    Value* at = b.CreateInBoundsGEP(b.getInt32Ty(), table, b.CreateAdd(first, b.getInt64(k)));
    return b.CreateAlignedLoad(b.getInt32Ty(), at, llvm::Align(4));
  };
  std::array<Value*, kWords> words{};
  Value* next = word(kWords);
  for (unsigned k = 0; k < kWords; ++k) {
    Value* upper = word(kWords - 1 - k);
    Value* shifted =
        b.CreateIntrinsic(llvm::Intrinsic::fshl, {b.getInt32Ty()}, {upper, next, shift});
    words[k] = b.CreateZExt(shifted, b.getInt64Ty());
    next = upper;
  }
  return words;
}

/// The product with m, modulo 2^192.
std::array<Value*, kWords> times(llvm::IRBuilder<>& b, const std::array<Value*, kWords>& words,
                                 Value* m) {
  Value *low = low_word(b, m), *high = high_word(b, m);
  Value* carry = b.getInt64(0);
  Value* before = b.getInt64(0);  // the upper half's product with the word before
  std::array<Value*, kWords> result{};
  for (unsigned k = 0; k < kWords; ++k) {
    Value* now = b.CreateMul(words[k], low);
    Value* sum = b.CreateAdd(b.CreateAdd(low_word(b, now), low_word(b, before)), carry);
    result[k] = low_word(b, sum);
    carry = b.CreateAdd(b.CreateAdd(high_word(b, now), high_word(b, before)), high_word(b, sum));
    before = b.CreateMul(words[k], high);
  }
  return result;
}

/// The fraction, between -1/2 and 1/2, of which the upper word without the integer part is `top`.
Pair fraction(const LaneContext& context, const std::array<Value*, kWords>& words, Value* top) {
  llvm::IRBuilder<>& b = context.builder;
  const auto number = [&](Value* word, double unit) {
    return Floats(context, b.CreateSIToFP(word, b.getDoubleTy())) * unit;
  };
  const Floats w5 = number(top, 0x1p-30), w4 = number(words[4], 0x1p-62),
               w3 = number(words[3], 0x1p-94), w2 = number(words[2], 0x1p-126),
               w1 = number(words[1], 0x1p-158);
  // Exact, so that upper words may cancel.
  const Pair upper = exact_sum(w5, w4), lower = exact_sum(w3, w2);
  const Pair middle = exact_sum(upper.low, lower.high);
  const Pair high = exact_sum(upper.high, middle.high);
  const Floats rest = middle.low + (lower.low + w1);
  return exact_sum_ordered(high.high, high.low + rest);
}

}  // namespace

FarQuarters far_quarters(Floats x) {
  const LaneContext& context = x.context();
  llvm::IRBuilder<>& b = context.builder;
  const Ints bits = x.bits();
  const Ints exponent = (bits >> 52) & 0x7ff;
  const Ints m = (bits & 0xfffffffffffff) | (int64_t{1} << 52);
  // e is exponent - 1075, and the bit of 2 / pi behind the point of number e - 1 stands at e + 62.
  const Ints bit = exponent - (1075 - 62);
  const auto product = times(b, words_from(b, bit.value()), m.value());
  // Two bits in front of the point, then the fraction, rounded to nearest.
  const Ints top(context, product[5]);
  const Ints whole = (top + 0x20000000) >> 30;
  const Ints left = top - (whole << 30);
  const Pair turns = fraction(context, product, left.value());
  const Pair quarter{x.constant(0x1.921fb54442d18p+0), x.constant(0x1.1a62633145c07p-54)};
  const Pair angle = elementary::product(turns, quarter);
  const Mask negative = sign_bit(x);
  const Ints backwards = whole.constant(0) - whole;
  const Ints n(context, b.CreateSelect(negative.value(), backwards.value(), whole.value()));
  const Pair opposite = negated(angle);
  return {n,
          {select(negative, opposite.high, angle.high), select(negative, opposite.low, angle.low)}};
}

}  // namespace adjit::emit::elementary
