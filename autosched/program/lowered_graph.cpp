// autosched/program/lowered_graph.cpp -- stages that run on, strides of tensors with room behind
// rows.
#include "autosched/program/lowered_graph.hpp"

#include <algorithm>

#include "runtime/expr/integer.hpp"

namespace adjit::sched {

const Running* running_of(const LoweredGraph& graph, const Stage& stage) {
  const auto found = graph.running.find(stage_key(stage));
  return found == graph.running.end() ? nullptr : &found->second;
}

int64_t row_gap(const LoweredGraph& graph, TensorId id) {
  const auto found = graph.row_gaps.find(id);
  return found == graph.row_gaps.end() ? 0 : found->second;
}

std::vector<int64_t> strides_of(const LoweredGraph& graph, TensorId id) {
  const std::vector<int64_t>& shape = graph.info(id).shape;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1) +
                     (d + 1 == shape.size() ? row_gap(graph, id) : 0);
  return strides;
}

int64_t elements_with_gaps(const LoweredGraph& graph, TensorId id) {
  const TensorInfo& tensor = graph.info(id);
  const int64_t elements = tensor.element_count(), gap = row_gap(graph, id);
  if (gap == 0 || elements == 0) return elements;
  const int64_t row = tensor.shape.back();
  return checked_mul(elements / row, checked_add(row, gap));
}

void forget_removed(LoweredGraph& graph) {
  if (graph.running.empty() && graph.distinct.empty() && graph.row_gaps.empty()) return;
  const std::vector<size_t> producers = defining_stages(graph);
  const auto is_gone = [&](StageKey key) {
    const size_t producer = producers[key];
    return producer == SIZE_MAX || stage_key(graph.stages[producer]) != key;
  };
  std::erase_if(graph.running, [&](const auto& entry) { return is_gone(entry.first); });
  std::erase_if(graph.distinct, is_gone);
  std::erase_if(graph.row_gaps,
                [&](const auto& entry) { return producers[entry.first.value] == SIZE_MAX; });
}

std::string fault_in_tables(const LoweredGraph& graph) {
  if (graph.running.empty() && graph.distinct.empty() && graph.row_gaps.empty()) return "";
  const std::vector<size_t> producers = defining_stages(graph);
  const auto stage_of = [&](uint32_t id) -> const Stage* {
    return id < producers.size() && producers[id] != SIZE_MAX ? &graph.stages[producers[id]]
                                                              : nullptr;
  };
  for (const auto& [key, running] : graph.running) {
    const Stage* stage = stage_of(key);
    if (!stage || stage_key(*stage) != key) return "no stage has the first result that runs on";
    if (stage->kind != StageKind::Compute || stage->combiner.kind == CombinerKind::None ||
        stage->domain.reduction_rank() != 0 || running.axis >= stage->domain.output_rank ||
        !stage->domain.is_box())
      return "'" + graph.info(TensorId{key}).name + "' cannot run on along that axis";
  }
  for (const StageKey key : graph.distinct) {
    const Stage* stage = stage_of(key);
    if (!stage || stage_key(*stage) != key)
      return "no stage has the first result that is written once";
  }
  for (const auto& [id, gap] : graph.row_gaps) {
    const Stage* stage = stage_of(id.value);
    if (!stage) return "no stage gives the tensor whose rows have gaps";
    if (stage->kind != StageKind::Compute || gap < 1 || graph.info(id).shape.empty())
      return "'" + graph.info(id).name + "' has no rows with room behind them";
  }
  return "";
}

}  // namespace adjit::sched
