// runtime/diff/dependence.cpp -- the walk.
#include "runtime/diff/dependence.hpp"

#include <algorithm>

namespace adjit {

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

}  // namespace adjit
