// autosched/cpu/passes/layout_context.hpp -- what the layout of reductions and their operands is
// decided by.
#pragma once

#include <cstddef>
#include <span>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/cpu/passes/pack/shared_packing.hpp"
#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// A program whose reductions get their layouts, one after the other; all nests have plain loops.
struct LayoutContext {
  Program program;
  const CpuMachine& machine;
  const Repeats& repeats;
  ReductionPlans& plans;
  const TaskAxes& task_axes;
  Choices& choices;
  SharedCopies copies = {};  // what has been packed so far

  const Stage& stage(size_t s) const { return program.graph.stages[s]; }
  /// Accesses of a stage, or of one like it. Copies of what stays the same pay for themselves over
  /// all runs.
  Accesses accessed_by(const Stage& stage) const;
  /// The tile that the stage would get with these accesses. `first_axis`: of those that a tile may
  /// take; `may_pack`: as if operands were packed for it.
  TileChoice choose(const Stage& stage, const Accesses& accesses, size_t first_axis, bool may_pack);
  TileProblem problem_of(const Stage& stage, const Accesses& accesses, size_t first_axis,
                         bool may_pack) const;
  /// Whether to do what is proposed for a stage.
  bool keeps(Decision decision, size_t s) {
    return choices.keeps(decision, program.graph, stage(s));
  }
  /// Axes whose loops are settled to be tasks.
  std::span<const size_t> tasks_of(const Stage& stage) const;
  /// Packs an operand of a stage, whose number after that is the result: copies stand before it.
  size_t packed(size_t s, TensorId operand, const Packing& packing);

 private:
  double passes_of(const Stage& stage) const;
};

}  // namespace adjit::sched
