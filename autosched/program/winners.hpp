// autosched/program/winners.hpp -- reductions that find a winner, and whose order does not matter.
//
//   (v, k)(i) argmax=! (x(i, r), r)
// takes the first of equal values: that with the least r. Where the second component grows from
// point to point, it says by itself which of two points comes first.
#pragma once

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Whether a stage is an ArgMax or ArgMin whose second component is an affine form that grows with
/// the order of a result's reduction points.
bool tells_order(const Graph& graph, const Stage& stage);

/// Whether threads may each reduce some points of a result, and their results be combined in any
/// order: all combiners that have partial results, and winners that tell the order.
bool threads_may_reduce(const Graph& graph, const Stage& stage);

}  // namespace adjit::sched
