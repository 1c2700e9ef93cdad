// autosched/analysis/reads/factored_sum.hpp -- which factors of a sum's terms depend on an axis of
// the sum.
#pragma once

#include <cstddef>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A term is `value` where `condition` holds, else zero. All of `value` but the one factor
/// `dependent` is the same along the axis: products, quotients and signs that go around it one
/// after the other, as (x * dependent) / y.
struct FactoredSum {
  const char* refusal = nullptr;  // why the terms have no such factor; null where they have
  ExprId condition;               // not valid: everywhere
  ExprId value;
  ExprId dependent;               // not valid: the condition alone depends on the axis
  std::vector<ExprId> invariant;  // the factors around it: at least one
};

/// The factors of a stage's terms, by an axis of its reduction. What depends on it is at most about
/// 16 everywhere, as weights are, or no number: sums of it do not overflow where terms do not.
FactoredSum factored_sum(const LoweredGraph& graph, const Stage& stage, size_t axis);

/// Of the node with one operand that depends on the axis, that operand; not valid where the node is
/// no product, quotient or sign of it.
ExprId factor_along(const ExprPool& pool, ExprId node, size_t axis);

}  // namespace adjit::sched
