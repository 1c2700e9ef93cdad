// runtime/graph/identity.hpp -- what a combiner starts from.
#pragma once

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// What a combiner starts from, in one type: 0, 1, -inf (lowest integer), +inf (highest integer),
/// false, true; 0 for None. Of ArgMax and ArgMin, that of the value; the place starts at 0.
Scalar identity_of(CombinerKind kind, DType dtype);
/// The same as a constant.
ExprId identity_of(ExprPool& pool, CombinerKind kind, DType dtype);
/// Whether an expression is that constant.
bool is_identity_of(const ExprPool& pool, CombinerKind kind, ExprId expr);

}  // namespace adjit::graph
