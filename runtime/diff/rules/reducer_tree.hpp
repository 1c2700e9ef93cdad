// runtime/diff/rules/reducer_tree.hpp -- a custom reduction as a tree of elementwise stages, whose
// derivative is that of its stages.
//
// Worked example, y = reduce over r < 5 of x[r] with combine C:
//   T0[r] = x[r]                                        5 points
//   T1[m] = 2 m + 1 < 5 ? C(T0[2 m], T0[2 m + 1]) : T0[2 m]     3
//   T2[m] = 2 m + 1 < 3 ? C(T1[2 m], T1[2 m + 1]) : T1[2 m]     2
//   y     = C(T2[0], T2[1])                                     1
// The order of the elements is kept (C need not commute), so the value is that of the reduction up
// to rounding. Work and memory are at most twice the elements, and reverse mode over the stages is
// the derivative by d y / d x[r], parallel on every level: no element is combined with more than
// log2 of their number of others.
#pragma once

#include <span>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The graph with every custom reduction through which a derivative of `outputs` with respect to
/// the inputs at positions `wrt` passes written as a tree. Other stages are left as they are.
/// Throws ErrorCode::NotDifferentiable, naming the line, for a reducer that is not associative: the
/// combiner is evaluated on a few triples of elements, and a tree of another shape gives another
/// value.
Graph with_reducer_trees(const Graph& graph, std::span<const size_t> wrt,
                         std::span<const size_t> outputs);

}  // namespace adjit::diff
