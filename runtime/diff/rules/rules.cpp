// runtime/diff/rules/rules.cpp -- the table of derivative rules.
#include "runtime/diff/rules/rules.hpp"

#include <array>
#include <numbers>

#include "runtime/expr/error.hpp"

namespace adjit::diff {
namespace {

constexpr double kLn2 = std::numbers::ln2;
constexpr double kLn10 = std::numbers::ln10;
const double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi;
const double kHalfSqrtPi = 0.5 / std::numbers::inv_sqrtpi;

// Builders on (terms, operands), so that a row below reads as its formula.
using T = const RuleTerms&;
ExprId add(T t, ExprId a, ExprId b) { return t.pool.add(a, b); }
ExprId sub(T t, ExprId a, ExprId b) { return t.pool.sub(a, b); }
ExprId mul(T t, ExprId a, ExprId b) { return t.pool.mul(a, b); }
ExprId div(T t, ExprId a, ExprId b) { return t.pool.div(a, b); }
ExprId neg(T t, ExprId a) { return t.pool.neg(a); }
ExprId sqr(T t, ExprId a) { return t.pool.mul(a, a); }
ExprId fun(T t, Op op, ExprId a) { return t.pool.make(op, {a}); }
ExprId fun(T t, Op op, ExprId a, ExprId b) { return t.pool.make(op, {a, b}); }
ExprId select(T t, ExprId c, ExprId a, ExprId b) { return t.pool.select(c, a, b); }

// c, halved where the two operands tie.
ExprId shared(T t) { return select(t, fun(t, Op::Eq, t.x(), t.y()), mul(t, t.c, t.k(0.5)), t.c); }

// d/db n = n log a, where n = a^b, and 0 where a = 0 <= b. There |n| is 0 or 1, and inf for b < 0:
// with 1 - |n| in place of log 0 the product is 0, 0 and infinite.
ExprId power_exponent(T t) {
  const ExprId at_zero = fun(t, Op::Eq, t.x(), t.k(0));
  const ExprId log =
      select(t, at_zero, sub(t, t.k(1), fun(t, Op::Abs, t.n)), fun(t, Op::Log, t.x()));
  return mul(t, t.c, mul(t, t.n, log));
}

// d/da a^b = b a^(b - 1), and 0 where b = 0. Small constant exponents avoid the power.
ExprId power_base(T t) {
  const ExprId slope = mul(t, t.y(), fun(t, Op::Pow, t.x(), sub(t, t.y(), t.k(1))));
  if (const auto exponent = t.pool.value(t.y())) {
    if (*exponent == 0) return {};
    if (*exponent == 2) return mul(t, t.c, mul(t, t.k(2), t.x()));
    if (*exponent == 3) return mul(t, t.c, mul(t, t.k(3), sqr(t, t.x())));
    return mul(t, t.c, slope);
  }
  return select(t, fun(t, Op::Ne, t.y(), t.k(0)), mul(t, t.c, slope), t.k(0));
}

// c * side / length, and 0 at the origin, where neither atan2 nor hypot has a derivative. A side
// over the length is no more than 1 and needs no scale; squares would leave the range.
ExprId over_length(T t, ExprId side, ExprId length) {
  const ExprId cosine = div(t, side, length);
  return select(t, fun(t, Op::Ne, length, t.k(0)), mul(t, t.c, cosine), t.k(0));
}
ExprId atan2_slope(T t, ExprId side) {
  const ExprId length = fun(t, Op::Hypot, t.x(), t.y());
  const ExprId cosine = div(t, side, length);
  return select(t, fun(t, Op::Ne, length, t.k(0)), mul(t, t.c, div(t, cosine, length)), t.k(0));
}

// 1 - x^2, rounded once: the square's own rounding would be most of the result beside 1.
ExprId one_minus_square(T t) { return t.pool.make(Op::Fma, {neg(t, t.x()), t.x(), t.k(1)}); }

using enum RuleKind;
using enum Op;

// One row per operation, in the order of ADJIT_OPS (checked below). `t.n` is the operation's own
// value.
// clang-format off
constexpr std::array kRules{
    Rule{Constant, Leaf},
    Rule{Axis,     Leaf},
    Rule{Argument, Leaf},
    Rule{Read,     Leaf},
    Rule{Neg,      Smooth, {[](T t) { return neg(t, t.c); }}},
    Rule{Abs,      Smooth, {[](T t) { return mul(t, t.c, fun(t, Sign, t.x())); }}},
    Rule{Sign,     Zero},
    Rule{Not,      Discrete},
    Rule{BitNot,   Discrete},
    Rule{Exp,      Smooth, {[](T t) { return mul(t, t.c, t.n); }}},
    Rule{Exp2,     Smooth, {[](T t) { return mul(t, t.c, mul(t, t.n, t.k(kLn2))); }}},
    // Not n + 1: the result lies at -1 where the exponential is small.
    Rule{Expm1,    Smooth, {[](T t) { return mul(t, t.c, fun(t, Exp, t.x())); }}},
    Rule{Log,      Smooth, {[](T t) { return div(t, t.c, t.x()); }}},
    Rule{Log2,     Smooth, {[](T t) { return mul(t, div(t, t.c, t.x()), t.k(1 / kLn2)); }}},
    Rule{Log10,    Smooth, {[](T t) { return mul(t, div(t, t.c, t.x()), t.k(1 / kLn10)); }}},
    Rule{Log1p,    Smooth, {[](T t) { return div(t, t.c, add(t, t.x(), t.k(1))); }}},
    Rule{Sqrt,     Smooth, {[](T t) { return div(t, mul(t, t.c, t.k(0.5)), t.n); }}},
    Rule{Rsqrt,    Smooth, {[](T t) {
           return mul(t, t.c, mul(t, mul(t, t.n, t.k(-0.5)), sqr(t, t.n))); }}},
    Rule{Sin,      Smooth, {[](T t) { return mul(t, t.c, fun(t, Cos, t.x())); }}},
    Rule{Cos,      Smooth, {[](T t) { return neg(t, mul(t, t.c, fun(t, Sin, t.x()))); }}},
    Rule{Tan,      Smooth, {[](T t) { return mul(t, t.c, add(t, sqr(t, t.n), t.k(1))); }}},
    Rule{Asin,     Smooth, {[](T t) {
           return mul(t, t.c, fun(t, Rsqrt, one_minus_square(t))); }}},
    Rule{Acos,     Smooth, {[](T t) {
           return neg(t, mul(t, t.c, fun(t, Rsqrt, one_minus_square(t)))); }}},
    Rule{Atan,     Smooth, {[](T t) { return div(t, t.c, add(t, sqr(t, t.x()), t.k(1))); }}},
    Rule{Sinh,     Smooth, {[](T t) { return mul(t, t.c, fun(t, Cosh, t.x())); }}},
    Rule{Cosh,     Smooth, {[](T t) { return mul(t, t.c, fun(t, Sinh, t.x())); }}},
    Rule{Tanh,     Smooth, {[](T t) { return mul(t, t.c, sub(t, t.k(1), sqr(t, t.n))); }}},
    Rule{Asinh,    Smooth, {[](T t) {
           return div(t, t.c, fun(t, Hypot, t.x(), t.k(1))); }}},
    Rule{Acosh,    Smooth, {[](T t) {
           return mul(t, mul(t, t.c, fun(t, Rsqrt, sub(t, t.x(), t.k(1)))),
                      fun(t, Rsqrt, add(t, t.x(), t.k(1)))); }}},
    Rule{Atanh,    Smooth, {[](T t) { return div(t, t.c, one_minus_square(t)); }}},
    Rule{Sigmoid,  Smooth, {[](T t) {
           return mul(t, t.c, mul(t, t.n, sub(t, t.k(1), t.n))); }}},
    Rule{Erf,      Smooth, {[](T t) {
           return mul(t, t.c, mul(t, fun(t, Exp, neg(t, sqr(t, t.x()))), t.k(kTwoOverSqrtPi))); }}},
    Rule{Erfc,     Smooth, {[](T t) {
           return mul(t, t.c, mul(t, fun(t, Exp, neg(t, sqr(t, t.x()))), t.k(-kTwoOverSqrtPi))); }}},
    Rule{Erfinv,   Smooth, {[](T t) {
           return mul(t, t.c, mul(t, fun(t, Exp, sqr(t, t.n)), t.k(kHalfSqrtPi))); }}},
    Rule{Lgamma,   Smooth, {[](T t) { return mul(t, t.c, fun(t, Digamma, t.x())); }}},
    Rule{Digamma,  Smooth, {[](T t) {
           return mul(t, t.c, fun(t, Polygamma, t.k(1), t.x())); }}},
    Rule{Floor,    Zero},
    Rule{Ceil,     Zero},
    Rule{Trunc,    Zero},
    Rule{Round,    Zero},
    Rule{IsNan,    Discrete},
    Rule{IsInf,    Discrete},
    Rule{Add,      Smooth, {[](T t) { return t.c; }, [](T t) { return t.c; }}},
    Rule{Sub,      Smooth, {[](T t) { return t.c; }, [](T t) { return neg(t, t.c); }}},
    Rule{Mul,      Smooth, {[](T t) { return mul(t, t.c, t.y()); },
                            [](T t) { return mul(t, t.c, t.x()); }}},
    Rule{Div,      Smooth, {[](T t) { return div(t, t.c, t.y()); },
                            [](T t) { return neg(t, mul(t, div(t, t.c, t.y()), t.n)); }}},
    Rule{FloorDiv, Zero},
    Rule{Mod,      Smooth, {[](T t) { return t.c; },
                            [](T t) { return neg(t, mul(t, t.c, fun(t, FloorDiv, t.x(), t.y()))); }}},
    Rule{Fmod,     Smooth, {[](T t) { return t.c; },
                            [](T t) { return neg(t, mul(t, t.c, fun(t, Round, div(t, sub(t, t.x(), t.n), t.y())))); }}},
    Rule{Min,      Smooth, {shared, shared},
                           {[](T t) { return fun(t, Not, fun(t, Lt, t.y(), t.x())); },
                            [](T t) { return fun(t, Not, fun(t, Lt, t.x(), t.y())); }}},
    Rule{Max,      Smooth, {shared, shared},
                           {[](T t) { return fun(t, Not, fun(t, Lt, t.x(), t.y())); },
                            [](T t) { return fun(t, Not, fun(t, Lt, t.y(), t.x())); }}},
    Rule{Pow,      Smooth, {power_base, power_exponent}},
    Rule{Atan2,    Smooth, {[](T t) { return atan2_slope(t, t.y()); },
                            [](T t) { return neg(t, atan2_slope(t, t.x())); }}},
    Rule{Hypot,    Smooth, {[](T t) { return over_length(t, t.x(), t.n); },
                            [](T t) { return over_length(t, t.y(), t.n); }}},
    Rule{Polygamma, Smooth, {nullptr, [](T t) {
           return mul(t, t.c, fun(t, Polygamma, add(t, t.x(), t.k(1)), t.y())); }}},
    Rule{And,        Discrete},
    Rule{Or,         Discrete},
    Rule{BitAnd,     Discrete},
    Rule{BitOr,      Discrete},
    Rule{BitXor,     Discrete},
    Rule{ShiftLeft,  Discrete},
    Rule{ShiftRight, Discrete},
    Rule{Eq,         Discrete},
    Rule{Ne,         Discrete},
    Rule{Lt,         Discrete},
    Rule{Le,         Discrete},
    Rule{Fma,      Smooth, {[](T t) { return mul(t, t.c, t.y()); },
                            [](T t) { return mul(t, t.c, t.x()); },
                            [](T t) { return t.c; }}},
    Rule{Select,   Smooth, {nullptr, [](T t) { return t.c; }, [](T t) { return t.c; }},
                           {nullptr, [](T t) { return t.x(); }, [](T t) { return fun(t, Not, t.x()); }}},
    Rule{Cast,     Smooth, {[](T t) {
           return t.pool.cast(t.c, accumulator_of(t.pool.dtype(t.x()))); }}},
};
// clang-format on

constexpr bool rows_in_order() {
  for (size_t k = 0; k < kRules.size(); ++k)
    if (static_cast<size_t>(kRules[k].op) != k) return false;
  return true;
}
static_assert(rows_in_order() && kRules.size() == static_cast<size_t>(Op::Cast) + 1);

}  // namespace

const Rule& rule_of(Op op) { return kRules[static_cast<size_t>(op)]; }

ExprId contribution(ExprPool& pool, ExprId node, size_t k, ExprId c, ExprId value) {
  const Rule& rule = rule_of(pool[node].op);
  if (k >= 3 || rule.contribution[k] == nullptr) return {};
  if (!is_float(pool.dtype(pool.operand(node, k)))) return {};
  return rule.contribution[k]({pool, node, value, c});
}

ExprId participation(ExprPool& pool, ExprId node, size_t k) {
  const Rule& rule = rule_of(pool[node].op);
  if (k >= 3 || rule.condition[k] == nullptr) return {};
  return rule.condition[k]({pool, node, node, ExprId{}});
}

}  // namespace adjit::diff
