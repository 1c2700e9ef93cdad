// autosched/cpu/passes/layout_context.cpp -- what the layout of reductions and their operands is
// decided by.
#include "autosched/cpu/passes/layout_context.hpp"

#include <utility>
#include <vector>

#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {

Accesses LayoutContext::accessed_by(const Stage& stage) const {
  Accesses accesses = accesses_of(program.graph, stage);
  const std::vector<TensorId>& inputs = program.graph.inputs;
  for (MemoryAccess& access : accesses.reads)
    for (size_t k = repeats.first_same; k < inputs.size(); ++k)
      if (inputs[k] == access.tensor) access.repeats = static_cast<double>(repeats.times);
  return accesses;
}

TileChoice LayoutContext::choose(const Stage& stage, const Accesses& accesses, size_t first_axis,
                                 bool may_pack) {
  return best_tile(problem_of(stage, accesses, first_axis, may_pack), choices);
}

TileProblem LayoutContext::problem_of(const Stage& stage, const Accesses& accesses,
                                      size_t first_axis, bool may_pack) const {
  const std::span<const size_t> tasks = tasks_of(stage);
  return {
      program.graph, stage,    accesses,      stage.domain.extents, cpu_of(program.target),
      first_axis,    may_pack, program.calls, passes_of(stage),     {tasks.begin(), tasks.end()}};
}

double LayoutContext::passes_of(const Stage& stage) const {
  const std::vector<size_t> producers = defining_stages(program.graph);
  const Domain& whole = this->stage(producers[stage.results.front().value]).domain;
  double passes = 1;
  for (size_t axis : tasks_of(stage))
    if (axis >= whole.output_rank) passes *= static_cast<double>(whole.extents[axis]);
  return passes;
}

std::span<const size_t> LayoutContext::tasks_of(const Stage& stage) const {
  const auto found = task_axes.find(stage_key(stage));
  return found == task_axes.end() ? std::span<const size_t>() : found->second.axes;
}

size_t LayoutContext::packed(size_t s, TensorId operand, const Packing& packing) {
  const size_t before = program.graph.stages.size();
  program = pack(std::move(program), s, operand, packing);
  return s + program.graph.stages.size() - before;
}

}  // namespace adjit::sched
