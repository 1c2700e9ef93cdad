// runtime/trace/rows.hpp -- conditions as rows of a domain: zeros that are never visited.
#pragma once

#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::trace {

/// The factors of a conjunction, negations pushed inwards: !(a || b) is !a, !b; !(a < b) is b <= a.
/// Constant-true factors are dropped. Not recursive.
std::vector<ExprId> normalized_conjuncts(ExprPool& pool, ExprId condition);
/// a && b && ...; true when empty.
ExprId conjunction(ExprPool& pool, const std::vector<ExprId>& factors);

/// Adds `factor` (over the domain's axes) to the domain's rows when it is a quasi-affine comparison
/// of int64 expressions
/// (==, <, <=; // and % by positive constants included); false, domain unchanged, when it is not.
bool add_row(ExprPool& pool, ExprId factor, Domain& domain);
/// Adds what can be added of a condition; returns the conjunction of the rest (true when nothing is
/// left).
ExprId restrict_domain(ExprPool& pool, ExprId condition, Domain& domain);

}  // namespace adjit::trace
