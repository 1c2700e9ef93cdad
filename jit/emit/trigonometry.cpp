// jit/emit/trigonometry.cpp -- circular functions and their inverses.
#include <llvm/IR/Module.h>

#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "jit/emit/elementary.hpp"
#include "jit/emit/polynomials.hpp"

namespace adjit::elementary {
namespace {

/// x = n pi / 2 + r + low with |r| <= pi / 4; |low| is at most half a unit of r, whatever x is.
struct Quarter {
  Ints n;  // in the low bits
  Floats r;
  std::optional<Floats> low;  // where r alone is not enough
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

// In float: each part subtracted with one rounding.
Quarter quarter_turns(Floats x) {
  if (x.is_double()) return quarter_turns_in_pairs(x);
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

Floats cos_of_reduced(const Quarter& q) {
  const Floats z = q.r * q.r;
  const Floats tail = polynomial(z, by_type(z, polynomials::kF32Cos, polynomials::kF64Cos));
  if (!q.low) return multiply_add(z, multiply_add(z, tail, -0.5), 1);
  const Floats half = z * 0.5;
  const Floats main = 1 - half;
  return main + (((1 - main) - half) + multiply_add(z * z, tail, -(q.r * *q.low)));
}

// Flips the sign where bit 1 of n is set.
Floats negate_if_second_bit(Floats x, Ints n) {
  const int to_sign = x.is_double() ? 62 : 30;
  return (x.bits() ^ ((n & 2) << to_sign)).as_floats();
}

struct SineCosine {
  Floats sine, cosine;
};

SineCosine small_sincos(Floats x) {
  const Quarter q = quarter_turns(x);
  const Floats sine = sin_of_reduced(q), cosine = cos_of_reduced(q);
  const Mask even = (q.n & 1) == 0;
  const Floats s = negate_if_second_bit(select(even, sine, cosine), q.n);
  return {select(fabs(x) < 0x1p-30, x, s),  // keeps -0
          negate_if_second_bit(select(even, cosine, sine), q.n + 1)};
}

// A quotient of two rounded numbers: the argument of both must not be rounded, too.
Floats small_tan(Floats x) {
  const Quarter q = quarter_turns_in_pairs(x);
  const Floats sine = sin_of_reduced(q), cosine = cos_of_reduced(q);
  const Mask even = (q.n & 1) == 0;
  const Floats value = select(even, sine, -cosine) / select(even, cosine, sine);
  return select(fabs(x) < 0x1p-30, x, value);
}

std::string type_name(Floats x) {
  const std::string element = x.is_double() ? "f64" : "f32";
  return x.lanes() ? "v" + std::to_string(x.lanes()) + element : element;
}

// A function of the module for this type, of one or two results: the polynomials, and for vectors
// with a finite argument too large for them, a detour to the C library for those lanes. Inlined it
// would split its caller's basic block.
struct Outlined {
  const char* name;
  std::vector<const char*> library;  // per result
  std::vector<Floats> (*polynomials)(Floats);
};

llvm::Type* result_type(llvm::Type* element, size_t results) {
  if (results == 1) return element;
  return llvm::StructType::get(element->getContext(), std::vector<llvm::Type*>(results, element));
}

llvm::Function* function_of(Floats x, const Outlined& outlined) {
  llvm::IRBuilder<>& caller = x.context().builder;
  const llvm::Function& calling = *caller.GetInsertBlock()->getParent();
  llvm::Module& module = *caller.GetInsertBlock()->getModule();
  const std::string symbol = std::string("adjit.") + outlined.name + "." + type_name(x);
  if (llvm::Function* present = module.getFunction(symbol)) return present;

  llvm::Type* type = x.value()->getType();
  llvm::Type* returned = result_type(type, outlined.library.size());
  llvm::LLVMContext& context = module.getContext();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(returned, {type}, false),
                                          llvm::GlobalValue::InternalLinkage, symbol, module);
  function->addFnAttrs(llvm::AttrBuilder(context, calling.getAttributes().getFnAttrs()));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->removeFnAttr(llvm::Attribute::AlwaysInline);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* slow = llvm::BasicBlock::Create(context, "slow", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);

  llvm::IRBuilder<> b(entry);
  const LaneContext inside{b, x.context().features};
  const Floats argument(inside, function->getArg(0));
  const std::vector<Floats> fast = outlined.polynomials(argument);
  const Floats size = fabs(argument);
  const Mask large =
      (size > (x.is_double() ? kLargestF64 : kLargestF32)) & (size < size.infinity());
  llvm::Value* any = large.value();
  if (x.lanes()) {
    llvm::Type* bits = b.getIntNTy(x.lanes());
    any = b.CreateICmpNE(b.CreateBitCast(any, bits), llvm::Constant::getNullValue(bits));
  }
  b.CreateCondBr(any, slow, done);
  b.SetInsertPoint(slow);
  std::vector<Floats> mixed;
  for (size_t k = 0; k < fast.size(); ++k)
    mixed.push_back(select(large, library_call(outlined.library[k], argument), fast[k]));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::Value* all = fast.size() > 1 ? llvm::PoisonValue::get(returned) : nullptr;
  for (size_t k = 0; k < fast.size(); ++k) {
    llvm::PHINode* result = b.CreatePHI(type, 2);
    result->addIncoming(fast[k].value(), entry);
    result->addIncoming(mixed[k].value(), slow);
    if (!all) {
      b.CreateRet(result);
      return function;
    }
  }
  unsigned k = 0;
  for (llvm::PHINode& result : done->phis()) all = b.CreateInsertValue(all, &result, k++);
  b.CreateRet(all);
  return function;
}

// A call with this argument that stands before the builder in its block; null when there is none.
llvm::CallInst* earlier_call(llvm::Function* function, Floats x) {
  llvm::IRBuilder<>& b = x.context().builder;
  if (llvm::isa<llvm::Constant>(x.value())) return nullptr;
  for (llvm::User* user : x.value()->users()) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != function || call->getParent() != b.GetInsertBlock())
      continue;
    const auto here = b.GetInsertPoint();
    if (here == b.GetInsertBlock()->end() || call->comesBefore(&*here)) return call;
  }
  return nullptr;
}

// Sine and cosine of one argument share a call.
Floats sine_or_cosine(Floats x, unsigned which) {
  static const Outlined kBoth{"sincos", {"sin", "cos"}, [](Floats v) {
                                const SineCosine both = small_sincos(v);
                                return std::vector<Floats>{both.sine, both.cosine};
                              }};
  llvm::Function* function = function_of(x, kBoth);
  llvm::CallInst* call = earlier_call(function, x);
  if (!call) call = x.context().builder.CreateCall(function, {x.value()});
  return {x.context(), x.context().builder.CreateExtractValue(call, which)};
}

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
  return t * z * polynomial(z, by_type(t, polynomials::kF32Atan, polynomials::kF64Atan));
}

// asin(x) - x for x^2 = z <= 1/4
Floats asin_tail(Floats x, Floats z) {
  return x * z * polynomial(z, by_type(x, polynomials::kF32Asin, polynomials::kF64Asin));
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
  const Floats z = select(direct, a * a, (1 - a) * 0.5);
  const Floats t = select(direct, a, z.intrinsic(llvm::Intrinsic::sqrt));
  return {direct, t, asin_tail(t, z)};
}

}  // namespace

Floats sin(Floats x) { return sine_or_cosine(x, 0); }
Floats cos(Floats x) { return sine_or_cosine(x, 1); }
Floats tan(Floats x) {
  static const Outlined kTan{"tan", {"tan"}, [](Floats v) { return std::vector{small_tan(v)}; }};
  return {x.context(), x.context().builder.CreateCall(function_of(x, kTan), {x.value()})};
}

Floats asin(Floats x) {
  const ArcSine s = arc_sine(x);
  const Pair quarter = constant_pair(x, kPi / 2);
  const Floats beyond = quarter.high - (s.t * 2 + (s.tail * 2 - quarter.low));
  return copysign(select(s.direct, s.t + s.tail, beyond), x);
}

Floats acos(Floats x) {
  const ArcSine s = arc_sine(x);
  const Pair quarter = constant_pair(x, kPi / 2), half = constant_pair(x, kPi);
  const Mask negative = sign_bit(x);
  const Floats t = copysign(s.t, x), tail = copysign(s.tail, x);
  const Floats direct = quarter.high - (t + (tail - quarter.low));
  const Floats twice = s.t * 2 + s.tail * 2;
  const Floats beyond = select(negative, half.high - (twice - half.low), twice);
  return select(s.direct, direct, beyond);
}

Floats atan(Floats x) {
  const Floats a = fabs(x);
  const Mask steep = a > 1;
  const Floats t = select(steep, x.constant(-1), a) / select(steep, a, 1);
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
  const Floats plain = select(steep | behind, angle, t + tail);
  const Floats with_nan = select(is_nan(x) | is_nan(y), x + y, plain);
  return select(is_nan(with_nan), with_nan, copysign(with_nan, y));
}

}  // namespace adjit::elementary
