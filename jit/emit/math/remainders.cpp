// jit/emit/math/remainders.cpp -- whole quotients and what they leave.
//
// A quotient x / y below 2^24 (double: 2^53) that is rounded, then cut to an integer t, is the
// floor of the exact one or, where it was rounded up to an integer, one more. x - t y is exact by
// one FMA where it is a number (a multiple of the last places of x and y, and no larger than y),
// and negative in the second case. A larger quotient q is an integer already, and x - q y is exact,
// too (what a rounded division leaves is a number: Muller et al., Handbook of Floating-Point
// Arithmetic, 2018, section 4.4): what that leaves is divided again.
#include <llvm/IR/Module.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "jit/emit/ir/outlined.hpp"
#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {
namespace {

/// Numerator and divisor, which is positive (or NaN); the rest, between 0 and the divisor, is to be
/// multiplied by `back` and to get the sign `sign`, which both have been multiplied by.
struct Operands {
  Floats x, y;
  std::optional<Floats> back;
  Ints sign;
};

Ints sign_of(Floats x) {
  return x.bits() & (x.is_double() ? std::numeric_limits<int64_t>::min()
                                   : int64_t{std::numeric_limits<int32_t>::min()});
}
Floats with_sign(Floats x, Ints sign) { return (x.bits() ^ sign).as_floats(); }

// Without FMA a product of doubles is put together from parts, which must neither over- nor
// underflow: both operands times one power of two. (Where one is large and the other small, there
// is no rest that could be computed so.)
Operands in_range(Floats x, Floats y, Ints sign) {
  if (x.context().features.fma || !x.is_double()) return {x, y, {}, sign};
  const Mask not_large = fabs(x) < 0x1p400;
  const Mask small = (y < 0x1p-400) & not_large, large = fabs(x) > 0x1p900;
  const auto power = [&](double up, double down) {
    return select(large, down, select(small, up, x.constant(1)));
  };
  const Floats there = power(0x1p500, 0x1p-500);
  return {x * there, y * there, power(0x1p-500, 0x1p500), sign};
}

// A floored rest has the divisor's sign, a truncated one the numerator's.
Operands for_floored(Floats x, Floats y) {
  const Ints sign = sign_of(y);
  const Floats size = fabs(y);
  return in_range(with_sign(x, sign), size, sign);
}
Operands for_truncated(Floats x, Floats y) {
  const Ints sign = sign_of(x);
  const Floats size = fabs(y);
  return in_range(fabs(x), size, sign);
}

struct Division {
  Floats ratio, whole;
  Floats left;  // x - whole y; negative where whole is too large
};
Division divide(const Operands& o) {
  const Floats ratio = o.x / o.y, whole = floor(ratio);
  return {ratio, whole, fused(-whole, o.y, o.x)};
}

double exact_quotients(Floats x) { return x.is_double() ? 0x1p53 : 0x1p24; }

Floats rest(const Operands& o, Floats left) {
  const Floats one_less = left + o.y;
  const Floats inside = select(left < 0, one_less, left);
  return with_sign(o.back ? inside * *o.back : inside, o.sign);
}

template <Operands (*operands)(Floats, Floats)>
Quick quick_rest(Arguments v) {
  const Operands o = operands(v[0], v[1]);
  const Division d = divide(o);
  const Mask undefined = is_nan(d.left);  // also where the divisor is infinite
  const Mask doubtful = (fabs(d.ratio) >= exact_quotients(d.ratio)) | undefined;
  return {{rest(o, d.left)}, doubtful};
}

// Quotients that are neither small nor beyond all numbers (nor, without FMA, near that) are divided
// until they are small.
Mask divides_again(Floats ratio) {
  const Floats size = fabs(ratio);
  const bool by_parts = ratio.is_double() && !ratio.context().features.fma;
  const Mask bounded = by_parts ? size < 0x1p960 : size < size.infinity();
  return (size >= exact_quotients(ratio)) & bounded;
}

Floats with_small_quotient(const Operands& o) {
  llvm::IRBuilder<>& b = o.x.context().builder;
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "divide", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "divided", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* left = b.CreatePHI(o.x.value()->getType(), 2);
  const Floats x(o.x.context(), left);
  const Floats ratio = x / o.y;
  const Mask again = divides_again(ratio);
  left->addIncoming(o.x.value(), before);
  left->addIncoming(select(again, fused(-ratio, o.y, x), x).value(), loop);
  b.CreateCondBr(any_lane(again), loop, done);
  b.SetInsertPoint(done);
  return x;
}

// The exact double of a float that is not negative, and back: by integers where it is subnormal,
// since those may count as zeros.
Floats widened_exactly(Floats x) {
  const LaneContext& context = x.context();
  llvm::IRBuilder<>& b = context.builder;
  llvm::Type* wide = b.getDoubleTy();
  if (x.lanes()) wide = llvm::FixedVectorType::get(wide, x.lanes());
  const Ints bits = x.bits();
  const Floats units(context, b.CreateUIToFP(bits.value(), wide));
  const Mask subnormal = is_negative(bits - 0x00800000);
  return select(subnormal, units * 0x1p-149, {context, b.CreateFPExt(x.value(), wide)});
}

Floats narrowed_exactly(Floats x, llvm::Type* narrow) {
  const LaneContext& context = x.context();
  llvm::IRBuilder<>& b = context.builder;
  const Mask subnormal = x < 0x1p-126;
  const Floats units = select(subnormal, x * 0x1p149, 0);
  const Floats rounded(context, b.CreateFPTrunc(x.value(), narrow));
  const Ints bits = rounded.bits();
  const Ints of_subnormal(context, b.CreateFPToUI(units.value(), bits.value()->getType()));
  return select(subnormal, of_subnormal.as_floats(), rounded);
}

// What is left of x by y, both positive doubles, by division until the quotient is small. A
// quotient that no double holds is taken by multiples of y first, which need a y below 1. Needs
// FMA.
Floats rest_of_doubles(Floats x, Floats y) {
  constexpr double kStep = 0x1p550;
  const Ints none = sign_of(y);
  const Floats far = select(y < 0x1p-100, y * kStep, y) * kStep;
  const Mask finite = x < x.infinity();
  const Floats number = select(finite, x, 0);
  const Floats below_far = with_small_quotient({number, far, {}, none});
  const Floats below_near = with_small_quotient({below_far, y * kStep, {}, none});
  const Operands o{with_small_quotient({below_near, y, {}, none}), y, {}, none};
  const Floats left = rest(o, divide(o).left);
  const Mask nonzero = y != 0;
  return select(finite & nonzero, left, x.nan());
}

// As the library has it, for quotients that are no finite numbers: the rest is as coarse as y.
Floats far_rest(Arguments v, bool floored) {
  const Floats x = fabs(v[0]), y = fabs(v[1]);
  const bool wide = x.is_double();
  const Floats divisor = wide ? y : widened_exactly(y);
  const Floats left = rest_of_doubles(wide ? x : widened_exactly(x), divisor);
  const auto as_before = [&](Floats rest) {
    return wide ? rest : narrowed_exactly(rest, x.value()->getType());
  };
  const Ints sign = sign_of(v[0]);
  if (!floored) return with_sign(as_before(left), sign);
  const Ints sign_of_divisor = sign_of(v[1]);
  const Mask opposite = is_negative(sign ^ sign_of_divisor);
  const Mask some = left > 0;
  const Floats floored_rest = select(opposite & some, divisor - left, left);
  return with_sign(as_before(floored_rest), sign_of_divisor);
}

template <Operands (*operands)(Floats, Floats)>
Results exact_rest(Arguments v, const char* library) {
  Operands o = operands(v[0], v[1]);
  o.x = with_small_quotient(o);
  const Division d = divide(o);
  const Mask infinite = o.y == o.y.infinity();  // all is left, if it is finite
  const Mask all = infinite & (fabs(o.x) < o.x.infinity());
  const Results found{rest(o, select(all, o.x + 0.0, d.left))};  // no -0
  const Mask beyond = (fabs(d.ratio) >= exact_quotients(d.ratio));
  return unless_any(beyond, found, [&] {
    const Floats far = v[0].context().features.has_library ? library_call(library, v[0], v[1])
                                                           : far_rest(v, operands == for_floored);
    return mixed(beyond, {far}, found);
  });
}

const Outlined kFlooredRest{"remainder", 1, quick_rest<for_floored>,
                            [](Arguments v) { return exact_rest<for_floored>(v, "remainder"); }};
const Outlined kTruncatedRest{"fmod", 1, quick_rest<for_truncated>,
                              [](Arguments v) { return exact_rest<for_truncated>(v, "fmod"); }};

}  // namespace

Floats floor_mod(Floats x, Floats y) {
  const Floats arguments[] = {x, y};
  return outlined_result(kFlooredRest, arguments, 0);
}

Floats fmod(Floats x, Floats y) {
  const Floats arguments[] = {x, y};
  return outlined_result(kTruncatedRest, arguments, 0);
}

Floats floor_div(Floats x, Floats y) {
  const Operands o = for_floored(x, y);
  const Division d = divide(o);
  const Floats left = select(o.y == o.y.infinity(), o.x, d.left);
  const Mask exact = fabs(d.ratio) < exact_quotients(x);
  const Mask past = (left < 0) & exact;
  // An infinity has no rest, hence no quotient, but by 0, which is plain division.
  const Mask nonzero = y != 0;
  const Mask undefined = (fabs(x) == x.infinity()) & nonzero;
  return select(undefined, x.nan(), select(past, d.whole - 1, d.whole));
}

}  // namespace adjit::emit::elementary
