// autosched/cpu/passes/stage_plans.hpp -- what passes settle about stages and kernels before these
// have loops.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// What has been decided about a stage before its loops are made.
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
  /// Of the reduction, in a block that runs over all columns of a task (matmul_like.hpp); else
  /// 0.
  int64_t streamed_steps = 0;

  /// Whether every task reads all of a large operand's rows, some of their columns.
  bool reads_much() const { return !panels.empty() || streamed_steps > 0; }
  /// Points of the first axis that a task takes, where that is settled (share_pairwise.hpp); else
  /// 0.
  int64_t task_points = 0;
};
using ReductionPlans = std::unordered_map<StageKey, ReductionPlan>;

/// The stages that have a plan.
inline StageSet planned_stages(const ReductionPlans& plans) {
  StageSet stages;
  for (const auto& [stage, plan] : plans) stages.insert(stage);
  return stages;
}

/// Which loops of a stage in blocks of rows (tile_fusion/apply.hpp) are tasks.
struct BlockTasks {
  std::vector<size_t> axes;  // whose loops are the tasks, the outermost first
  size_t chain = 0;          // number of the chain
};
using TaskAxes = std::unordered_map<StageKey, BlockTasks>;

/// Leading loops of kernels that are settled to be their tasks (task_chains.hpp), by the kernel's
/// root.
using TaskLoops = std::unordered_map<StageKey, size_t>;

/// All that passes settle about stages, for those behind them.
struct StagePlans {
  ReductionPlans reductions;
  TaskAxes task_axes;
  TaskLoops task_loops;  // those of task_axes, once these loops are there, and of column sums
};

/// What is settled of the tasks of all kernels, besides.
struct SharedTasks {
  bool first_axis = false;  // tasks are parts of the first loop's axis, however little they take
  int64_t points = 0;       // of the axis that one takes; 0: about two tasks a core
};

}  // namespace adjit::sched
