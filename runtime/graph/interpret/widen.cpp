// runtime/graph/interpret/widen.cpp -- the same computation with every float type replaced by
// float64.
#include "runtime/graph/interpret/widen.hpp"

#include <utility>

#include "runtime/graph/subgraphs.hpp"

namespace adjit::graph {
namespace {

DType wide(DType dtype) { return is_float(dtype) ? DType::Float64 : dtype; }

// Node by node, so that ids shift only where two dtypes of one value merge.
std::vector<ExprId> widen_pool(const ExprPool& source, ExprPool& target) {
  std::vector<ExprId> ids;
  ids.reserve(source.size());
  std::vector<ExprId> operands;
  for (uint32_t k = 0; k < source.size(); ++k) {
    Node node = source[ExprId{k}];
    operands.clear();
    for (ExprId operand : source.operands(ExprId{k})) operands.push_back(ids[operand.value]);
    const bool identity = node.op == Op::Cast && is_float(node.dtype) &&
                          is_float(source.dtype(source.operand(ExprId{k}, 0)));
    node.dtype = wide(node.dtype);
    ids.push_back(identity ? operands[0] : target.intern(node, operands));
  }
  return ids;
}

void rename(std::vector<ExprId>& exprs, const std::vector<ExprId>& ids) {
  for (ExprId& expr : exprs) expr = ids[expr.value];
}

}  // namespace

Array widen(const Array& array) {
  Array result = Array::zeros(wide(array.dtype), array.shape);
  if (result.dtype == array.dtype) return array;
  for (int64_t k = 0; k < array.element_count(); ++k) result.set(k, array.at(k));
  return result;
}

Graph widen(const Graph& graph) {
  Graph result = graph;
  result.pool = ExprPool();
  const std::vector<ExprId> ids = widen_pool(graph.pool, result.pool);
  for (TensorInfo& tensor : result.tensors) tensor.dtype = wide(tensor.dtype);
  for (ConstantData& constant : result.constants) {
    const TensorInfo& info = graph.info(constant.tensor);
    constant.bytes = widen(Array{info.dtype, info.shape, constant.bytes}).bytes;
  }
  for (Stage& stage : result.stages) {
    rename(stage.bodies, ids);
    rename(stage.target, ids);
    rename(stage.combiner.combine, ids);
    rename(stage.combiner.identity, ids);
    map_subgraphs(stage, [](const Graph& inner) { return widen(inner); });
  }
  return result;
}

}  // namespace adjit::graph
