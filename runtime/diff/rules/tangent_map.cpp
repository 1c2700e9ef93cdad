// runtime/diff/rules/tangent_map.cpp -- tangents of tensors and of reads.
#include "runtime/diff/rules/tangent_map.hpp"

#include "runtime/diff/rules/accumulate.hpp"

namespace adjit::diff {

TensorId add_tangent(Graph& graph, TangentMap& map, TensorId like) {
  const TensorInfo info = graph.info(like);
  const TensorId tangent = add_tensor(graph, "t_" + info.name, info.dtype, info.shape);
  map.set(like, tangent);
  return tangent;
}

ExprId tangent_of_read(Graph& graph, const TangentMap& map, ExprId read) {
  const TensorId tangent = map.of(graph.pool.read_tensor(read));
  if (!tangent.valid()) return {};
  const std::vector<ExprId> index(graph.pool.read_index(read).begin(),
                                  graph.pool.read_index(read).end());
  const ExprId value = graph::read(graph, tangent, index, graph.pool.read_predicate(read));
  return graph.pool.cast(value, accumulator_of(graph.pool.dtype(value)));
}

TensorId tangent_or_zeros(Graph& graph, const TangentMap& map, TensorId tensor) {
  const TensorId tangent = map.of(tensor);
  return tangent.valid() ? tangent : materialised(graph, tensor, Cotangent{});
}

}  // namespace adjit::diff
