// autosched/lower/prefix.cpp -- prefix reductions run on along an axis.
#include "autosched/lower/prefix.hpp"

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::sched {

LoweredGraph lower_running(LoweredGraph graph) {
  for (Stage& stage : graph.stages) {
    const std::optional<Running> running = prefix_reduction(graph.pool, stage);
    if (!running) continue;
    std::vector<ExprId> now = axes(graph.pool, stage.domain.output_rank);
    now.push_back(graph.pool.axis(running->axis));
    stage.bodies = substitute_axes(graph.pool, stage.bodies, now);
    stage.domain.extents.pop_back();
    stage.domain.inequalities.clear();
    graph.running.emplace(stage_key(stage), *running);
  }
  return graph;
}

}  // namespace adjit::sched
