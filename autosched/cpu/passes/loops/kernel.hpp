// autosched/cpu/passes/loops/kernel.hpp -- the loops of a kernel's nests: lanes and register
// tile, then order and tasks.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules the nests of a kernel, the attached ones first; all have plain loops until now.
Program schedule_kernel(Program program, size_t root_stage, const CpuMachine& machine,
                        const ReductionPlans& plans, const TaskLoops& tasks,
                        const SharedTasks& shared, Choices& choices);

/// Lanes and instances of all nests that are attached to a kernel's root.
Program schedule_attached(Program program, size_t root, const CpuMachine& machine,
                          const ReductionPlans& plans, Choices& choices);

/// Lanes and unrolled instances of a nest that has neither yet.
Program apply_tile(Program program, size_t stage, const TileChoice& choice);

}  // namespace adjit::sched
