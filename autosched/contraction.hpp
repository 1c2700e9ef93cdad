// autosched/contraction.hpp -- what long reductions need before their loops are made: packed
// operands, partial results.
#pragma once

#include "autosched/nest_schedule.hpp"
#include "autosched/step_invariants.hpp"

namespace adjit {

/// Packs operands that a register tile would read badly (transposed for the lanes, rows a multiple
/// of 4096 bytes apart, guarded by zeros around them), and splits reductions whose results are too
/// few to occupy the cores. Rewrites the graph; all loops stay plain. The decisions that the loops
/// must agree with are noted in `plans`.
Program prepare_reductions(Program program, const Target& target, const Repeats& repeats,
                           ReductionPlans& plans, Choices& choices);

}  // namespace adjit
