// runtime/diff/rules/rules.hpp -- the derivative of every scalar operation: one table, one row
// each.
//
// A row gives, per operand, the contribution of a node's cotangent c to that operand: an expression
// linear in c, partial * c, built so that it reuses the node's own value where that is cheaper
// (tanh: c * (1 - y * y)), and so that squares and differences on the way neither leave the range
// nor cancel where the partial itself is an ordinary number. Forward mode reads the same table: the
// tangent of a node is the sum over operands of the contribution with c replaced by the operand's
// tangent.
//
// Conventions (torch's): max/min share ties evenly, d abs(0) = 0, d sqrt(0) = inf, floor and its
// like give zero, pow's exponent gradient at base 0 is zero, atan2 and hypot have slope 0 at the
// origin. Where an operand takes part only under a condition (Select, Max, Min) the row says which:
// callers guard the whole contribution with it, so that an unselected branch never reaches a
// gradient.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// What a rule sees: the pool to build in, the node n = op(x, y, ...), its value and the cotangent
/// (or tangent) c.
struct RuleTerms {
  ExprPool& pool;
  ExprId node;
  ExprId n;  // the node's own value: the node itself, or a read of the tensor that holds it
  ExprId c;  // dtype: accumulator_of the node's
  ExprId x() const { return pool.operand(node, 0); }
  ExprId y() const { return pool.operand(node, 1); }
  /// A constant in c's dtype.
  ExprId k(double value) const { return pool.constant(value, pool.dtype(c)); }
};

enum class RuleKind : uint8_t {
  Smooth,    // `contribution` is given for every float operand that takes part
  Zero,      // piecewise constant: no contribution
  Discrete,  // integer or bool result: a cotangent never arrives
  Leaf,      // constants, axes, arguments, reads
};

struct Rule {
  using Build = ExprId (*)(const RuleTerms&);
  Op op;
  RuleKind kind;
  Build contribution[3] = {nullptr, nullptr, nullptr};  // null: that operand gets none
  /// The condition (Bool) under which the operand takes part at all; null: always.
  Build condition[3] = {nullptr, nullptr, nullptr};
};

const Rule& rule_of(Op op);

/// The contribution of node's cotangent c to operand k; an invalid id when there is none (zero, or
/// an integer operand). `value` stands for the node's own value where a rule uses it: the node, or
/// a read of the tensor that holds it.
ExprId contribution(ExprPool& pool, ExprId node, size_t k, ExprId c, ExprId value);
/// The condition under which operand k takes part; an invalid id when it always does.
ExprId participation(ExprPool& pool, ExprId node, size_t k);

}  // namespace adjit::diff
