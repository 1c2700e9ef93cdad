// autosched/cpu/passes/loops/kernel.hpp -- the loops of one nest: lanes, register tile, order,
// parallel tasks.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules the nests of a kernel, the attached ones first; all have plain loops until now.
Program schedule_kernel(Program program, size_t root_stage, const Target& target,
                        const ReductionPlans& plans, const TaskLoops& tasks,
                        const SharedTasks& shared, Choices& choices);

/// Lanes and copies of all nests that are attached to a kernel's root.
Program schedule_attached(Program program, size_t root, const Target& target,
                          const ReductionPlans& plans, Choices& choices);

/// Lanes and unrolled copies of a nest that has neither yet.
Program apply_tile(Program program, size_t stage, const TileChoice& choice);

/// What tasks are made of.
struct TaskLimits {
  int64_t fewest = 2;  // a core
  int64_t largest_chunk = INT64_MAX;
  std::optional<size_t> serial_axis;  // whose loop stays inside all tasks
  size_t loops = SIZE_MAX;            // the first ones of the nest, that may be taken
};
/// Makes tasks of a kernel's first loops where it is worth the threads; `cycles` of one core.
Program run_in_parallel(Program program, size_t stage, double cycles, const TaskLimits& limits,
                        Choices& choices);

/// Microseconds that a number of cycles and of bytes through memory take on one core.
double microseconds(double cycles, double bytes);

}  // namespace adjit::sched
