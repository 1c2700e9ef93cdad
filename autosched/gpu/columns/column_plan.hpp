// autosched/gpu/columns/column_plan.hpp -- which rows and columns a block takes of a sum over rows.
#pragma once

#include <cstdint>
#include <vector>

#include "autosched/gpu/columns/column_loops.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The sum's rows are divided three times: into `parts`, each the strip of one block; a strip into
/// groups, which the block takes one after the other; a group into rows, which its threads take at
/// once.
struct ColumnPlan {
  ColumnGroup group;
  int64_t parts = 1;     // of the axis that groups are taken of
  int64_t strips = 1;    // for each multiprocessor
  bool at_once = false;  // whether blocks add up all parts of a result (not split_reductions)
};

/// Whether a stage is a reduction that threads may add up in parts, with neighbours in memory along
/// its last axis of results.
bool may_add_up_columns(const LoweredGraph& graph, const Stage& stage);

/// Plans that keep all multiprocessors busy: rows as a whole, of one axis and more, and then tiles
/// of columns; of each those with the most threads first. Each multiprocessor has two strips of
/// rows, or one whose threads have twice the registers: kernels written by hand with either reached
/// 0.94 of the copy (a layer norm's gradients, 32768 x 1024, measured), with four strips 0.92.
std::vector<ColumnPlan> column_plans(const LoweredGraph& graph, const Stage& stage,
                                     const GpuMachine& machine);

}  // namespace adjit::sched
