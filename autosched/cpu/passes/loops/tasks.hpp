// autosched/cpu/passes/loops/tasks.hpp -- which loops of a kernel become parallel, and how many
// trips one task takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

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

/// Tasks as all kernels of a program share them; the program as it is where the loops are not so.
Program share_tasks(Program program, size_t stage, const SharedTasks& shared);

}  // namespace adjit::sched
