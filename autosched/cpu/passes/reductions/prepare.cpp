// autosched/cpu/passes/reductions/prepare.cpp -- the layouts of reductions and of their operands,
// one reduction after the other.
#include "autosched/cpu/passes/reductions/prepare.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "autosched/cpu/passes/layout_context.hpp"
#include "autosched/cpu/passes/pack/gather_operands.hpp"
#include "autosched/cpu/passes/pack/pack_operands.hpp"
#include "autosched/cpu/passes/pack/pair_operands.hpp"
#include "autosched/cpu/passes/reductions/collapse_columns.hpp"
#include "autosched/cpu/passes/reductions/output_layout.hpp"
#include "autosched/cpu/passes/reductions/pad.hpp"
#include "autosched/cpu/passes/reductions/residues.hpp"
#include "autosched/cpu/passes/reductions/rfactor.hpp"
#include "autosched/cpu/passes/reductions/widen.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Results with the lanes innermost, and with the loop over these outermost, where it was.
void transpose_results_of(LayoutContext& c, size_t s) {
  if (c.plans.contains(stage_key(c.stage(s)))) return;  // its loops are settled
  const TileChoice tile = c.choose(c.stage(s), c.accessed_by(c.stage(s)), 0, true);
  if (!wants_lanes_innermost(c.program, s, tile, c.machine) ||
      !c.keeps(Decision::TransposeOutput, s))
    return;
  c.program = transpose_output(std::move(c.program), s, *tile.vector_axis);
  const Nest& nest = nest_of(c.program, s);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t l) {
    const size_t axis = nest.loops[l].axis;
    const bool lanes = axis + 1 == c.stage(s).domain.output_rank;
    return lanes ? 2 * *tile.vector_axis : 2 * axis + 1;
  });
  c.program = with_order(std::move(c.program), s, order);
}

void prepare(LayoutContext& c, size_t s) {
  if (const auto plan = c.plans.find(stage_key(c.stage(s)));
      plan != c.plans.end() && plan->second.task_points > 0)
    return;
  if (box_points(c.stage(s).domain) * static_cast<double>(c.repeats.times) <
      thresholds().large_stage)
    return;
  if (c.task_axes.contains(stage_key(c.stage(s)))) {
    if (!pair_operands(c, s)) pack_operands(c, widen_operands(c, s));
    return;
  }
  if (wants_one_axis_of_columns(c.program, s, c.accessed_by(c.stage(s))) &&
      c.keeps(Decision::FuseAxes, s)) {
    const size_t columns = c.stage(s).domain.output_rank - 2;
    c.program = fuse_axes(std::move(c.program), s, columns);
  }
  s = pad_operand(c, s);
  if (rfactor_long_sum(c, s)) return;
  if (take_residues(c, s)) s = pad_operand(c, s);
  if (pair_operands(c, s)) return;
  s = widen_operands(c, s);
  s = gather_rows(c, s);
  if (!nest_of(c.program, s).attached.empty()) return;  // rows are summed, the tile is settled
  transpose_results_of(c, s);
  pack_operands(c, s);
}

}  // namespace

Program prepare_reductions(Program program, const CpuMachine& machine, const Repeats& repeats,
                           ReductionPlans& plans, const TaskAxes& task_axes, Choices& choices) {
  LayoutContext c{std::move(program), machine, repeats, plans, task_axes, choices};
  // New stages come in just before the one at hand: by name, not by number.
  std::vector<TensorId> names;
  for (const Stage& stage : c.program.graph.stages)
    if (stage.kind == StageKind::Compute && stage.domain.reduction_rank() > 0)
      names.push_back(stage.results.front());
  size_t from = 0;
  for (TensorId name : names) {
    while (c.program.graph.stages[from].results.front() != name) ++from;
    prepare(c, from);
  }
  return std::move(c.program);
}

}  // namespace adjit::sched
