// runtime/diff/guards.hpp -- conditions that are affine become rows of a domain.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit {

/// Moves every conjunct of `condition` that is affine over the domain into it as a row (comparisons
/// of int64, negated ones too; !(a || b) is a conjunction). Returns the conjunction of the others,
/// invalid when none is left. `empty` becomes true when a conjunct is constant false. Rows that the
/// box implies are dropped.
struct Restriction {
  ExprId rest;
  bool empty = false;
};
Restriction restrict_by(ExprPool& pool, ExprId condition, Domain& domain);

/// The rows of a domain as one condition (invalid when it has none), only those that use no axis
/// from `axis_limit` on.
ExprId rows_condition(ExprPool& pool, const Domain& domain, size_t axis_limit);

}  // namespace adjit
