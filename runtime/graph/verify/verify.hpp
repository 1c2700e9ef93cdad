// runtime/graph/verify/verify.hpp -- proves a graph well-formed or names what is not.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// Checks: stages in order, every tensor defined once, dtypes and ranks of bodies, results,
/// combiners and index expressions, Scan and Call signatures, and that every read stays in bounds
/// at every point of its domain where its predicate and its path condition (enclosing selects)
/// hold. Reads whose index depends on data are not provable: they are allowed, and are checked by
/// whoever runs them. Throws Error (Shape, DType, Bounds or Invalid) naming the stage, the user's
/// line, the read as text, the range of the offending index against the extent, and the remedy
/// (guard it with select or where=).
void verify(const Graph& graph);

/// The part of that which concerns one Call stage, whose operands and results are tensors of the
/// graph: its functions and how they fit together.
void verify_call(const Graph& graph, const Stage& stage);

}  // namespace adjit::graph
