// autosched/gpu/columns/column_kernel.hpp -- a kernel that adds up columns and computes rows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "autosched/gpu/columns/column_plan.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Who is computed together. Stages go by a result: moves renumber them.
struct ColumnStages {
  TensorId sum;                      // of what adds up columns
  std::vector<TensorId> companions;  // ascending
  std::vector<bool> may_attach;      // per tensor: whether its stage may be computed there, too
};

/// Computes companions of a reduction, and what they and it need of a row, in the reduction's
/// loops, by a plan: with all their loops. nullopt: no companion could be attached,
/// a move refuses, or threads have no registers or shared memory for it.
std::optional<Program> column_kernel(Program program, const ColumnStages& stages,
                                     const ColumnPlan& plan, const GpuMachine& machine);

}  // namespace adjit::sched
