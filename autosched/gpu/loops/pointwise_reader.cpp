// autosched/gpu/loops/pointwise_reader.cpp -- who alone reads what a stage computes, point by
// point.
#include "autosched/gpu/loops/pointwise_reader.hpp"

#include <algorithm>
#include <vector>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

// Whether a stage reads a tensor at its own points, and at all of them.
bool reads_point_by_point(const LoweredGraph& graph, const Stage& stage, TensorId tensor) {
  const std::vector<int64_t>& shape = graph.info(tensor).shape;
  if (!stage.domain.is_box() || stage.domain.extents != shape) return false;
  return std::ranges::all_of(reads_of(graph, stage), [&](ExprId read) {
    if (graph.pool.read_tensor(read) != tensor) return true;
    return is_identity(graph.pool, graph.pool.read_index(read)) &&
           !graph.pool.read_predicate(read).valid();
  });
}

}  // namespace

std::optional<size_t> pointwise_reader(const Program& program, size_t stage) {
  const LoweredGraph& graph = program.graph;
  const TensorId result = graph.stages[stage].results.front();
  const std::vector<size_t>& readers = program.readers[result.value];
  if (!is_alone(program, stage) || readers.size() != 1 || !is_alone(program, readers.front()) ||
      std::ranges::find(graph.outputs, result) != graph.outputs.end())
    return std::nullopt;
  const Stage& reader = graph.stages[readers.front()];
  if (reader.kind != StageKind::Compute || reader.combiner.kind != CombinerKind::None ||
      !reads_point_by_point(graph, reader, result))
    return std::nullopt;
  return readers.front();
}

}  // namespace adjit::sched
