// jit/emit/math/vector_math.cpp -- formulas on values of IR, and divisors made ready.
#include "jit/emit/math/vector_math.hpp"

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/half.hpp"

namespace adjit::emit {

using llvm::Value;

VectorMath::VectorMath(llvm::IRBuilder<>& builder, const TargetFeatures& features)
    : features_(features), context_{builder, features_} {}

Value* VectorMath::operator()(Unary formula, Value* x) { return formula({context_, x}).value(); }
Value* VectorMath::operator()(Test formula, Value* x) { return formula({context_, x}).value(); }
Value* VectorMath::operator()(Binary formula, Value* a, Value* b) {
  return formula({context_, a}, {context_, b}).value();
}
Value* VectorMath::operator()(Ternary formula, Value* a, Value* b, Value* c) {
  return formula({context_, a}, {context_, b}, {context_, c}).value();
}

VectorMath::Divisor VectorMath::divisor(Value* d) {
  const Floats number(context_, d);
  if (elementary::is_constant_number(number)) {
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

Value* VectorMath::extend_half(Value* bits) { return emit::extend_half(context_, bits); }
Value* VectorMath::extend_bfloat(Value* bits) { return emit::extend_bfloat(context_, bits); }
Value* VectorMath::truncate_half(Value* value) { return emit::truncate_half({context_, value}); }
Value* VectorMath::truncate_bfloat(Value* value) {
  return emit::truncate_bfloat({context_, value});
}

}  // namespace adjit::emit
