// autosched/cpu/passes/reductions/prepare.hpp -- what long reductions need before their loops are
// made: packed operands, partial results.
#pragma once

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/cpu/passes/tile_fusion/apply.hpp"

namespace adjit::sched {

/// Packs operands that a register tile would read badly (transposed for the lanes, rows a multiple
/// of 4096 bytes apart, guarded by zeros around them), and splits reductions whose results are too
/// few to occupy the cores. Rewrites the graph; all loops stay plain. The decisions that the loops
/// must agree with are noted in `plans`. `task_axes`: of stages whose tasks are settled; copies of
/// their operands keep these outermost.
Program prepare_reductions(Program program, const CpuMachine& machine, const Repeats& repeats,
                           ReductionPlans& plans, const TaskAxes& task_axes, Choices& choices);

}  // namespace adjit::sched
