// jit/emit/math/exact_operations.cpp -- roundings, signs and comparisons, and roots that are
// rounded correctly.
#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {

bool is_constant_number(Floats x) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(x.value());
  if (!constant) return false;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && !number->isNaN();
}

Floats sqrt(Floats x) { return x.intrinsic(llvm::Intrinsic::sqrt); }
Floats rsqrt(Floats x) { return 1 / sqrt(x); }
Floats floor(Floats x) { return x.intrinsic(llvm::Intrinsic::floor); }
Floats ceil(Floats x) { return x.intrinsic(llvm::Intrinsic::ceil); }
Floats trunc(Floats x) { return x.intrinsic(llvm::Intrinsic::trunc); }
Floats round(Floats x) { return x.intrinsic(llvm::Intrinsic::rint); }

Floats sign(Floats x) {
  const Floats nonzero = copysign(x.constant(1), x);
  const Floats of_number = select(x == 0, 0, nonzero);
  return select(is_nan(x), x, of_number);
}

Mask is_inf(Floats x) { return fabs(x) == x.infinity(); }

// A GPU has one instruction for float32.
bool has_ordered_extremes(Floats a) { return a.context().features.gpu && !a.is_double(); }

Floats extreme(llvm::Intrinsic::ID id, Floats a, Floats b) {
  return {a.context(), a.context().builder.CreateBinaryIntrinsic(id, a.value(), b.value())};
}

// b < a ? b : a is one instruction and gives a where either is NaN; a constant b needs no more.
Floats minimum(Floats a, Floats b) {
  if (has_ordered_extremes(a)) return extreme(llvm::Intrinsic::minimum, a, b);
  const Floats least = select(b < a, b, a);
  return is_constant_number(b) ? least : select(is_nan(b), b, least);
}

Floats maximum(Floats a, Floats b) {
  if (has_ordered_extremes(a)) return extreme(llvm::Intrinsic::maximum, a, b);
  const Floats greatest = select(b > a, b, a);
  return is_constant_number(b) ? greatest : select(is_nan(b), b, greatest);
}

}  // namespace adjit::emit::elementary
