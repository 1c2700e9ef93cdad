// autosched/lower/scatters.hpp -- scatters in the form that kernels run.
//
//   H = scatter from H0 of H(I(r)) += X(r)    becomes    S(i) = H0(i);  H(I'(r)) += X(r) on top of
//   S
// where H and S are one buffer; where H0's own buffer may be written over (shared_buffers.hpp), S
// is H0. A lowered scatter
//  - has an `initial` tensor that nobody else reads, nor its own points, and that shares the
//    result's buffer (permutations of an inversion alone have none: LoweredGraph::distinct);
//  - accumulates in the combiner's register type (half results are rounded once, by a stage after
//    it);
//  - has targets that are affine and in range at every point, or else negative at exactly the
//  points
//    that write nothing and in range at all others (at a point, one negative target is enough).
#pragma once

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Every scatter of the graph lowered; other stages stay as they are, in their order.
LoweredGraph lower_scatters(const LoweredGraph& graph);

}  // namespace adjit::sched
