// autosched/nest_schedule.hpp -- the loops of one nest: lanes, register tile, order, parallel
// tasks.
#pragma once

#include <unordered_map>

#include "autosched/choices.hpp"
#include "autosched/program.hpp"
#include "autosched/target.hpp"
#include "autosched/tile_choice.hpp"

namespace adjit {

/// What has been decided about a stage before its loops are made. By the stage's
/// first result.
struct ReductionPlan {
  TileChoice tile = {};
  /// The first axis is that of the parts of a split reduction.
  bool in_parts = false;
  /// Steps of the reduction run outside the output loops, with the partial results in memory: for
  /// sums down columns.
  bool reduction_outside = false;
  /// Copies of operands whose panels are made inside the stage's loops; until these are made, they
  /// are kernels with plain loops.
  std::vector<TensorId> panels = {};
  /// Of the reduction, in a block that runs over all columns of a task (matrix_product.hpp); else
  /// 0.
  int64_t streamed_steps = 0;

  /// Whether every task reads all of a large operand's rows, some of their columns.
  bool reads_much() const { return !panels.empty() || streamed_steps > 0; }
  /// Points of the first axis that a task takes, where that is settled (shared_pairs.hpp); else 0.
  int64_t task_points = 0;
};
using ReductionPlans = std::unordered_map<uint32_t, ReductionPlan>;

/// Leading loops of kernels that are settled to be their tasks (task_chains.hpp), by the first
/// result of the kernel's root.
using TaskLoops = std::unordered_map<uint32_t, size_t>;

/// What is settled of the tasks of all kernels, besides.
struct SharedTasks {
  bool first_axis = false;  // tasks are parts of the first loop's axis, however little they take
  int64_t points = 0;       // of the axis that one takes; 0: about two tasks a core
};

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

}  // namespace adjit
