// autosched/cpu/passes/fuse_tasks.hpp -- loops with which kernels follow each other task by task.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Runs of kernels with plain loops that should chain, and the leading loops that are then to run
/// in parallel, by the first result of each kernel's root: what passes between the kernels leaves
/// the caches as a whole, but one task's part of it stays in one. Stages with plans keep their
/// register tiles: their leading loops are not taken where a tile is over them. Those that are
/// `settled` are among the result as they are.
TaskLoops plan_chains(const Program& program, const CpuMachine& machine,
                      const ReductionPlans& plans, TaskLoops settled = {});

}  // namespace adjit::sched
