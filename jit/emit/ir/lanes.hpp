// jit/emit/ir/lanes.hpp -- values in registers with operators, so that a formula in the emitter
// reads as a formula.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {

/// Where instructions go, and for which CPU.
struct LaneContext {
  llvm::IRBuilder<>& builder;
  const TargetFeatures& features;
};

/// One bit per lane.
class Mask {
 public:
  Mask(const LaneContext& context, llvm::Value* value) : context_(&context), value_(value) {}
  const LaneContext& context() const { return *context_; }
  llvm::Value* value() const { return value_; }
  Mask operator&(Mask other) const;
  Mask operator|(Mask other) const;
  Mask operator!() const;

 private:
  const LaneContext* context_;
  llvm::Value* value_;
};

class Ints;

/// Float or double, one value or a vector of any length. A double beside one stands for a constant
/// of its type.
class Floats {
 public:
  Floats(const LaneContext& context, llvm::Value* value) : context_(&context), value_(value) {}
  const LaneContext& context() const { return *context_; }
  llvm::Value* value() const { return value_; }

  bool is_double() const { return value_->getType()->getScalarType()->isDoubleTy(); }
  /// Number of lanes; 0 for a scalar.
  unsigned lanes() const;
  Floats constant(double value) const;
  Floats infinity() const;
  Floats nan() const;
  Ints bits() const;
  /// Result of a one-operand intrinsic.
  Floats intrinsic(llvm::Intrinsic::ID id) const;

 private:
  const LaneContext* context_;
  llvm::Value* value_;
};

/// Integers as wide as the float type that they were made from. A number beside one stands for a
/// constant of its type.
class Ints {
 public:
  Ints(const LaneContext& context, llvm::Value* value) : context_(&context), value_(value) {}
  const LaneContext& context() const { return *context_; }
  llvm::Value* value() const { return value_; }
  Ints constant(int64_t value) const;
  Floats as_floats() const;  // the same bits

 private:
  const LaneContext* context_;
  llvm::Value* value_;
};

Ints operator+(Ints a, Ints b);
Ints operator-(Ints a, Ints b);
Ints operator&(Ints a, Ints b);
Ints operator|(Ints a, Ints b);
Ints operator^(Ints a, Ints b);
Ints operator<<(Ints a, int64_t bits);
Ints operator>>(Ints a, int64_t bits);  // logical
inline Ints operator+(Ints a, int64_t b) { return a + a.constant(b); }
inline Ints operator-(Ints a, int64_t b) { return a - a.constant(b); }
inline Ints operator&(Ints a, int64_t b) { return a & a.constant(b); }
inline Ints operator|(Ints a, int64_t b) { return a | a.constant(b); }
Mask operator==(Ints a, int64_t b);
Mask operator!=(Ints a, int64_t b);
Mask is_negative(Ints a);

Floats operator+(Floats a, Floats b);
Floats operator-(Floats a, Floats b);
Floats operator*(Floats a, Floats b);
Floats operator/(Floats a, Floats b);
inline Floats operator+(Floats a, double b) { return a + a.constant(b); }
inline Floats operator-(Floats a, double b) { return a - a.constant(b); }
inline Floats operator*(Floats a, double b) { return a * a.constant(b); }
inline Floats operator+(double a, Floats b) { return b.constant(a) + b; }
inline Floats operator-(double a, Floats b) { return b.constant(a) - b; }
inline Floats operator*(double a, Floats b) { return b.constant(a) * b; }
inline Floats operator/(double a, Floats b) { return b.constant(a) / b; }
Floats operator-(Floats a);

// Comparisons are false for NaN, != is true.
Mask operator<(Floats a, Floats b);
Mask operator<=(Floats a, Floats b);
Mask operator==(Floats a, Floats b);
Mask operator!=(Floats a, Floats b);
inline Mask operator>(Floats a, Floats b) { return b < a; }
inline Mask operator>=(Floats a, Floats b) { return b <= a; }
inline Mask operator<(Floats a, double b) { return a < a.constant(b); }
inline Mask operator<=(Floats a, double b) { return a <= a.constant(b); }
inline Mask operator>(Floats a, double b) { return a > a.constant(b); }
inline Mask operator>=(Floats a, double b) { return a >= a.constant(b); }
inline Mask operator==(Floats a, double b) { return a == a.constant(b); }
inline Mask operator!=(Floats a, double b) { return a != a.constant(b); }
Mask is_nan(Floats a);

Floats select(Mask condition, Floats yes, Floats no);
inline Floats select(Mask condition, double yes, Floats no) {
  return select(condition, no.constant(yes), no);
}
inline Floats select(Mask condition, Floats yes, double no) {
  return select(condition, yes, yes.constant(no));
}

Floats fabs(Floats a);
Floats copysign(Floats magnitude, Floats sign);
/// Mask of the sign bit, -0 and negative NaN included.
Mask sign_bit(Floats a);

/// a * b + c rounded once, on every CPU; without FMA, doubles whose product or its error over- or
/// underflows may be rounded twice.
Floats fused(Floats a, Floats b, Floats c);
inline Floats fused(double a, Floats b, Floats c) { return fused(b.constant(a), b, c); }
/// a * b + c where a second rounding does no harm: one instruction if there is FMA, two if not.
Floats multiply_add(Floats a, Floats b, Floats c);
inline Floats multiply_add(Floats a, Floats b, double c) {
  return multiply_add(a, b, a.constant(c));
}
inline Floats multiply_add(Floats a, double b, Floats c) {
  return multiply_add(a, a.constant(b), c);
}
inline Floats multiply_add(Floats a, double b, double c) {
  return multiply_add(a, a.constant(b), a.constant(c));
}
/// Coefficients lowest order first, by Horner's rule.
Floats polynomial(Floats x, std::span<const double> coefficients);
/// The first for float, the second for double.
inline std::span<const double> by_type(Floats x, std::span<const double> f32,
                                       std::span<const double> f64) {
  return x.is_double() ? f64 : f32;
}

/// Lanes [first, first + count); those behind the last one are anything.
Floats part(Floats x, unsigned first, unsigned count);
/// Parts of equally many lanes, a power of two of them, side by side.
Floats concatenate(std::vector<Floats> parts);

/// f(x) of a function of registers of `least` to `most` lanes: of more lanes part by part, of fewer
/// (or of a scalar) with lanes beside them that are anything.
Floats by_registers(Floats x, unsigned least, unsigned most, Floats (*f)(Floats));

/// An unevaluated sum of two floats of which `low` is less than a unit in the last place of `high`.
struct Pair {
  Floats high;
  Floats low;
};
/// a + b exactly; the second needs |a| >= |b| or a = 0.
Pair exact_sum(Floats a, Floats b);
Pair exact_sum_ordered(Floats a, Floats b);
/// a * b exactly (barring underflow).
Pair exact_product(Floats a, Floats b);

}  // namespace adjit::emit
