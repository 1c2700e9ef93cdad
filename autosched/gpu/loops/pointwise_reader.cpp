// autosched/gpu/loops/pointwise_reader.cpp -- who alone reads what a stage computes, point by
// point.
#include "autosched/gpu/loops/pointwise_reader.hpp"

#include <algorithm>
#include <vector>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {

bool reads_point_by_point(const LoweredGraph& graph, const Stage& stage, TensorId tensor) {
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
      running_of(graph, stage) || !stage.domain.is_box() ||
      stage.domain.extents != graph.info(tensor).shape)
    return false;
  return std::ranges::all_of(reads_of(graph, stage), [&](ExprId read) {
    if (graph.pool.read_tensor(read) != tensor) return true;
    return is_identity(graph.pool, graph.pool.read_index(read)) &&
           !graph.pool.read_predicate(read).valid();
  });
}

std::optional<size_t> pointwise_reader(const Program& program, size_t stage) {
  const LoweredGraph& graph = program.graph;
  const TensorId result = graph.stages[stage].results.front();
  const std::vector<size_t>& readers = program.readers[result.value];
  if (!is_alone(program, stage) || readers.size() != 1 || !is_alone(program, readers.front()) ||
      std::ranges::find(graph.outputs, result) != graph.outputs.end())
    return std::nullopt;
  const bool pointwise = reads_point_by_point(graph, graph.stages[readers.front()], result);
  return pointwise ? std::optional(readers.front()) : std::nullopt;
}

}  // namespace adjit::sched
