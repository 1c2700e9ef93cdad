// jit/emit/math/vector_math.cpp -- the functions of VectorMath: formulas from elementary.hpp, and
// the exact operations.
#include "jit/emit/math/vector_math.hpp"

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/half.hpp"

namespace adjit::emit {

using llvm::Value;

namespace {

bool is_constant_number(const Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant) return false;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && !number->isNaN();
}

}  // namespace

VectorMath::VectorMath(llvm::IRBuilder<>& builder, const TargetFeatures& features)
    : features_(features), context_{builder, features_} {}

Value* VectorMath::apply(Unary function, Value* x) { return function({context_, x}).value(); }
Value* VectorMath::apply(Binary function, Value* a, Value* b) {
  return function({context_, a}, {context_, b}).value();
}

Value* VectorMath::exp(Value* x) { return apply(elementary::exp, x); }
Value* VectorMath::exp2(Value* x) { return apply(elementary::exp2, x); }
Value* VectorMath::expm1(Value* x) { return apply(elementary::expm1, x); }
Value* VectorMath::log(Value* x) { return apply(elementary::log, x); }
Value* VectorMath::log2(Value* x) { return apply(elementary::log2, x); }
Value* VectorMath::log10(Value* x) { return apply(elementary::log10, x); }
Value* VectorMath::log1p(Value* x) { return apply(elementary::log1p, x); }
Value* VectorMath::pow(Value* x, Value* y) { return apply(elementary::pow, x, y); }
Value* VectorMath::sigmoid(Value* x) { return apply(elementary::sigmoid, x); }

Value* VectorMath::sin(Value* x) { return apply(elementary::sin, x); }
Value* VectorMath::cos(Value* x) { return apply(elementary::cos, x); }
Value* VectorMath::tan(Value* x) { return apply(elementary::tan, x); }
Value* VectorMath::asin(Value* x) { return apply(elementary::asin, x); }
Value* VectorMath::acos(Value* x) { return apply(elementary::acos, x); }
Value* VectorMath::atan(Value* x) { return apply(elementary::atan, x); }
Value* VectorMath::atan2(Value* y, Value* x) { return apply(elementary::atan2, y, x); }

Value* VectorMath::sinh(Value* x) { return apply(elementary::sinh, x); }
Value* VectorMath::cosh(Value* x) { return apply(elementary::cosh, x); }
Value* VectorMath::tanh(Value* x) { return apply(elementary::tanh, x); }
Value* VectorMath::asinh(Value* x) { return apply(elementary::asinh, x); }
Value* VectorMath::acosh(Value* x) { return apply(elementary::acosh, x); }
Value* VectorMath::atanh(Value* x) { return apply(elementary::atanh, x); }

Value* VectorMath::erf(Value* x) { return apply(elementary::erf, x); }
Value* VectorMath::erfc(Value* x) { return apply(elementary::erfc, x); }
Value* VectorMath::erfinv(Value* x) {
  return elementary::library_call("erfinv", {context_, x}).value();
}
Value* VectorMath::lgamma(Value* x) {
  return elementary::library_call("lgamma", {context_, x}).value();
}
Value* VectorMath::digamma(Value* x) {
  return elementary::library_call("digamma", {context_, x}).value();
}
Value* VectorMath::polygamma(Value* order, Value* x) {
  return elementary::library_call("polygamma", {context_, order}, {context_, x}).value();
}
Value* VectorMath::fmod(Value* a, Value* b) { return apply(elementary::fmod, a, b); }
Value* VectorMath::floor_div(Value* a, Value* b) { return apply(elementary::floor_div, a, b); }
Value* VectorMath::floor_mod(Value* a, Value* b) { return apply(elementary::floor_mod, a, b); }

VectorMath::Divisor VectorMath::divisor(Value* d) {
  const Floats number(context_, d);
  if (is_constant_number(d)) {
    const auto* constant = llvm::cast<llvm::Constant>(d);
    if (d->getType()->isVectorTy()) constant = constant->getSplatValue();
    llvm::APFloat size = llvm::cast<llvm::ConstantFP>(constant)->getValueAPF();
    const bool negative = size.isNegative();
    size.clearSign();
    const double value = size.convertToDouble();
    // Others are scaled as numbers that are not known.
    if (value > 0x1p-60 && value < 0x1p60) {
      llvm::APFloat reciprocal(size.getSemantics(), 1);
      reciprocal.divide(size, llvm::APFloat::rmNearestTiesToEven);
      const auto made = [&](const llvm::APFloat& x) {
        return llvm::ConstantFP::get(d->getType(), x);
      };
      return {negative ? number.constant(-1).value() : nullptr, made(size), made(reciprocal)};
    }
  }
  const elementary::Divisor made = elementary::divisor(number);
  return {made.scale.value(), made.magnitude.value(), made.reciprocal.value()};
}

Value* VectorMath::divided(Value* x, const Divisor& divisor) {
  const Floats numerator(context_, x);
  const Floats scaled = divisor.scale ? numerator * Floats(context_, divisor.scale) : numerator;
  return elementary::divided(scaled, {context_, divisor.magnitude}, {context_, divisor.reciprocal})
      .value();
}

Value* VectorMath::sqrt(Value* x) {
  return Floats(context_, x).intrinsic(llvm::Intrinsic::sqrt).value();
}
Value* VectorMath::rsqrt(Value* x) {
  return (1 / Floats(context_, x).intrinsic(llvm::Intrinsic::sqrt)).value();
}
Value* VectorMath::floor(Value* x) {
  return Floats(context_, x).intrinsic(llvm::Intrinsic::floor).value();
}
Value* VectorMath::ceil(Value* x) {
  return Floats(context_, x).intrinsic(llvm::Intrinsic::ceil).value();
}
Value* VectorMath::trunc(Value* x) {
  return Floats(context_, x).intrinsic(llvm::Intrinsic::trunc).value();
}
Value* VectorMath::round(Value* x) {
  return Floats(context_, x).intrinsic(llvm::Intrinsic::rint).value();
}
Value* VectorMath::abs(Value* x) { return fabs(Floats(context_, x)).value(); }

Value* VectorMath::sign(Value* x) {
  const Floats f(context_, x);
  const Floats nonzero = copysign(f.constant(1), f);
  return select(emit::is_nan(f), f, select(f == 0, 0, nonzero)).value();
}

Value* VectorMath::is_nan(Value* x) { return emit::is_nan(Floats(context_, x)).value(); }

Value* VectorMath::is_inf(Value* x) {
  const Floats f(context_, x);
  return (fabs(f) == f.infinity()).value();
}

Value* VectorMath::fma(Value* a, Value* b, Value* c) {
  return fused({context_, a}, {context_, b}, {context_, c}).value();
}

// b < a ? b : a is one instruction and gives a where either is NaN; a constant b needs no more.
Value* VectorMath::minimum(Value* a, Value* b) {
  const Floats x(context_, a), y(context_, b);
  const Floats least = select(y < x, y, x);
  return is_constant_number(b) ? least.value() : select(emit::is_nan(y), y, least).value();
}

Value* VectorMath::maximum(Value* a, Value* b) {
  const Floats x(context_, a), y(context_, b);
  const Floats greatest = select(y > x, y, x);
  return is_constant_number(b) ? greatest.value() : select(emit::is_nan(y), y, greatest).value();
}

// Squares stay among the normal numbers: of what is far from 1 they are scaled ones.
Value* VectorMath::hypot(Value* a, Value* b) {
  const Floats x = fabs(Floats(context_, a)), y = fabs(Floats(context_, b));
  const double far = x.is_double() ? 0x1p500 : 0x1p60, power = x.is_double() ? 0x1p600 : 0x1p90;
  const Floats size = select(x < y, y, x);
  const Floats scale =
      select(size < 1 / far, power, select(size > far, x.constant(1 / power), 1.0));
  const Floats back = select(size < 1 / far, 1 / power, select(size > far, x.constant(power), 1.0));
  const Floats p = x * scale, q = y * scale;
  const Floats sum = emit::multiply_add(p, p, q * q);
  const Floats length = sum.intrinsic(llvm::Intrinsic::sqrt) * back;
  const Mask infinite = (x == x.infinity()) | (y == y.infinity());
  return select(infinite, x.infinity(), length).value();
}

Value* VectorMath::multiply_add(Value* a, Value* b, Value* c) {
  return emit::multiply_add({context_, a}, {context_, b}, {context_, c}).value();
}

Value* VectorMath::extend_half(Value* bits) { return emit::extend_half(context_, bits); }
Value* VectorMath::extend_bfloat(Value* bits) { return emit::extend_bfloat(context_, bits); }
Value* VectorMath::truncate_half(Value* value) { return emit::truncate_half({context_, value}); }
Value* VectorMath::truncate_bfloat(Value* value) {
  return emit::truncate_bfloat({context_, value});
}

}  // namespace adjit::emit
