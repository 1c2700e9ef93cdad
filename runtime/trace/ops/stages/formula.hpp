// runtime/trace/ops/stages/formula.hpp -- scalar expressions written as formulas: a pool and an id
// with operators.
//
// Numbers adapt to the formula beside them: `h * 2 - 1` is int64 where h is an axis, `x * 0.5` is
// float32 where x is. Everything else is the pool's business: dtypes must agree, exact folding
// happens while building.
#pragma once

#include <concepts>
#include <cstdint>

#include "runtime/expr/expr.hpp"

namespace adjit::trace {

class Formula {
 public:
  Formula(ExprPool& pool, ExprId id) : pool_(&pool), id_(id) {}

  ExprId id() const { return id_; }
  DType dtype() const { return pool_->dtype(id_); }
  ExprPool& pool() const { return *pool_; }
  /// A number in this formula's dtype.
  template <typename Number>
    requires std::integral<Number> || std::floating_point<Number>
  Formula like(Number value) const {
    if constexpr (std::integral<Number>) {
      if (!is_float(dtype()))
        return {*pool_, pool_->constant_int(static_cast<int64_t>(value), dtype())};
    }
    return {*pool_, pool_->constant(static_cast<double>(value), dtype())};
  }
  Formula make(Op op) const { return {*pool_, pool_->make(op, {id_})}; }
  Formula make(Op op, Formula other) const { return {*pool_, pool_->make(op, {id_, other.id_})}; }
  Formula cast(DType dtype) const { return {*pool_, pool_->cast(id_, dtype)}; }

 private:
  ExprPool* pool_;
  ExprId id_;
};

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

// A binary function of two formulas, and of a formula and a number on either side.
#define ADJIT_FORMULA_BINARY(name, op)                                    \
  inline Formula name(Formula a, Formula b) { return a.make(Op::op, b); } \
  template <Number T>                                                     \
  Formula name(Formula a, T b) {                                          \
    return a.make(Op::op, a.like(b));                                     \
  }                                                                       \
  template <Number T>                                                     \
  Formula name(T a, Formula b) {                                          \
    return b.like(a).make(Op::op, b);                                     \
  }
#define ADJIT_FORMULA_UNARY(name, op) \
  inline Formula name(Formula a) { return a.make(Op::op); }

ADJIT_FORMULA_BINARY(operator+, Add)
ADJIT_FORMULA_BINARY(operator-, Sub)
ADJIT_FORMULA_BINARY(operator*, Mul)
ADJIT_FORMULA_BINARY(operator/, Div)
ADJIT_FORMULA_BINARY(operator%, Mod)
ADJIT_FORMULA_BINARY(floor_div, FloorDiv)
ADJIT_FORMULA_BINARY(minimum, Min)
ADJIT_FORMULA_BINARY(maximum, Max)
ADJIT_FORMULA_BINARY(power, Pow)
ADJIT_FORMULA_BINARY(operator==, Eq)
ADJIT_FORMULA_BINARY(operator!=, Ne)
ADJIT_FORMULA_BINARY(operator<, Lt)
ADJIT_FORMULA_BINARY(operator<=, Le)
ADJIT_FORMULA_BINARY(operator&&, And)
ADJIT_FORMULA_BINARY(operator||, Or)
ADJIT_FORMULA_BINARY(operator&, BitAnd)
ADJIT_FORMULA_BINARY(operator^, BitXor)
ADJIT_FORMULA_BINARY(operator>>, ShiftRight)
ADJIT_FORMULA_BINARY(operator<<, ShiftLeft)
inline Formula operator>(Formula a, Formula b) { return b < a; }
inline Formula operator>=(Formula a, Formula b) { return b <= a; }
template <Number T>
Formula operator>(Formula a, T b) {
  return a.like(b) < a;
}
template <Number T>
Formula operator>=(Formula a, T b) {
  return a.like(b) <= a;
}
ADJIT_FORMULA_UNARY(operator-, Neg)
ADJIT_FORMULA_UNARY(operator!, Not)
ADJIT_FORMULA_UNARY(abs, Abs)
ADJIT_FORMULA_UNARY(exp, Exp)
ADJIT_FORMULA_UNARY(expm1, Expm1)
ADJIT_FORMULA_UNARY(log, Log)
ADJIT_FORMULA_UNARY(log1p, Log1p)
ADJIT_FORMULA_UNARY(sqrt, Sqrt)
ADJIT_FORMULA_UNARY(rsqrt, Rsqrt)
ADJIT_FORMULA_UNARY(sin, Sin)
ADJIT_FORMULA_UNARY(cos, Cos)
ADJIT_FORMULA_UNARY(tanh, Tanh)
ADJIT_FORMULA_UNARY(sigmoid, Sigmoid)
ADJIT_FORMULA_UNARY(erf, Erf)
ADJIT_FORMULA_UNARY(floor, Floor)
ADJIT_FORMULA_UNARY(is_nan, IsNan)
ADJIT_FORMULA_UNARY(is_inf, IsInf)
#undef ADJIT_FORMULA_BINARY
#undef ADJIT_FORMULA_UNARY

inline Formula select(Formula condition, Formula a, Formula b) {
  ExprPool& pool = condition.pool();
  return {pool, pool.select(condition.id(), a.id(), b.id())};
}
template <Number T>
Formula select(Formula condition, Formula a, T b) {
  return select(condition, a, a.like(b));
}
template <Number T>
Formula select(Formula condition, T a, Formula b) {
  return select(condition, b.like(a), b);
}

/// log(1 + exp(-|x|)). At 0 it is the side of x >= 0, whose derivatives go on with those of
/// select(x < 0, ..., ...): with abs, second derivatives there would miss a term.
inline Formula log1p_exp_below(Formula x) { return log1p(exp(select(x < 0, x, -x))); }

}  // namespace adjit::trace
