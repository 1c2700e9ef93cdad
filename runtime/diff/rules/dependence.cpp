// runtime/diff/rules/dependence.cpp -- the walk.
#include "runtime/diff/rules/dependence.hpp"

#include <algorithm>
#include <utility>

namespace adjit::diff {

std::vector<char> differentiably_dependent(const Graph& graph, std::vector<char> marked) {
  for (const Stage& stage : graph.stages) {
    if (stage.stop_gradient) continue;
    const std::vector<TensorId> reads = tensors_read(graph, stage);
    if (std::ranges::none_of(reads, [&](TensorId t) { return marked[t.value] != 0; })) continue;
    for (TensorId result : stage.results)
      if (is_float(graph.info(result).dtype)) marked[result.value] = 1;
  }
  return marked;
}

std::vector<char> dependent_inputs(const Scan& scan, std::vector<char> flagged) {
  const Graph& body = *scan.body;
  for (bool changed = true; std::exchange(changed, false);) {
    std::vector<char> marked(body.tensors.size(), 0);
    for (size_t k = 0; k < flagged.size(); ++k) marked[body.inputs[k].value] = flagged[k];
    marked = differentiably_dependent(body, std::move(marked));
    for (size_t k = 0; k < scan.carries; ++k) {
      if (flagged[k] || !marked[body.outputs[k].value]) continue;
      flagged[k] = 1;
      changed = true;
    }
  }
  return flagged;
}

}  // namespace adjit::diff
