// autosched/moves/scatter/start.cpp -- what a scatter starts from.
#include "autosched/moves/scatter/start.hpp"

#include <algorithm>
#include <utility>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/identity.hpp"

namespace adjit::sched {

std::optional<Fill> fill_of_start(const Program& program, const Stage& scatter) {
  const LoweredGraph& graph = program.graph;
  const TensorId start = scatter.initial;
  const size_t s = defining_stages(graph)[start.value];
  if (s == SIZE_MAX || !is_alone(program, s) || program.readers[start.value].size() != 1 ||
      std::ranges::find(graph.outputs, start) != graph.outputs.end())
    return std::nullopt;
  const Stage& stage = graph.stages[s];
  if (stage.kind != StageKind::Compute || !stage.domain.is_box() ||
      stage.combiner.kind != CombinerKind::None || !graph.pool.is(stage.bodies[0], Op::Constant))
    return std::nullopt;
  const CombinerKind combiner = scatter.combiner.kind;
  const bool fits = combiner == CombinerKind::None ||
                    graph::is_identity_of(graph.pool, combiner, stage.bodies[0]);
  return fits ? std::optional(Fill{s, stage.bodies[0]}) : std::nullopt;
}

Stage computing(const Stage& scatter, std::vector<int64_t> extents) {
  Stage stage = scatter;
  stage.kind = StageKind::Compute;
  stage.target.clear();
  stage.initial = {};
  stage.out_of_range = OutOfRange::Error;
  stage.domain = shape_box(std::move(extents));
  return stage;
}

}  // namespace adjit::sched
