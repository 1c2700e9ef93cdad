// runtime/diff/rewrite/reads_in_box.hpp -- reads that are evaluated at more points than they were
// made for.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The expression with a predicate at each read whose index is neither a constant in range nor an
/// axis of the box that stays in range: it names no element, and is 0, where the index is out of
/// range. For what was in range by the rows of a domain and is evaluated in all of the box, where
/// what it gives beyond these rows does not matter. Invalid stays invalid.
ExprId with_reads_in_box(Graph& graph, ExprId expr, const Domain& box);

}  // namespace adjit::diff
