// autosched/lower/near_indices.hpp -- no affine index is farther from its tensor than addresses
// count, no constraint farther than loops do.
//
// Where nothing is read an index may be anything: select(i < 1, x(i * 2^60), 0). Code and its cost
// add multiples of affine indices to addresses, and those of such an index have more than 64 bits.
// It is brought to the tensor instead, x(min(max(i * 2^60, 0), 7)), which is the same wherever it
// is read, and no affine index any more. A target that may be out of range is dropped, clipped or
// wrapped as before. Constraints become what near_constraint.hpp says.
#pragma once

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Same results. Raises Overflow for a constraint that 64 bits cannot ask and that has no nearer
/// form. Other indices and constraints stay as they are, most graphs whole.
LoweredGraph near_indices(LoweredGraph graph);
/// Of one Compute or Scatter stage: after a substitution, which may make an index affine.
void near_indices(LoweredGraph& graph, Stage& stage);

}  // namespace adjit::sched
