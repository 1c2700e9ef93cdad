// autosched/cpu/passes/pack/panels.cpp -- layouts of copied operands.
#include "autosched/cpu/passes/pack/panels.hpp"

#include <algorithm>

namespace adjit::sched {

size_t dimension_of(const Graph& graph, const MemoryAccess& access, size_t axis) {
  const std::span<const ExprId> index = graph.pool.read_index(access.read);
  size_t found = SIZE_MAX;
  for (size_t d = 0; d < index.size(); ++d) {
    if (graph.pool.is(index[d], Op::Axis) && graph.pool.axis_number(index[d]) == axis) found = d;
  }
  return found;
}

Packing panels(const Graph& graph, const Stage& stage, const MemoryAccess& access, size_t dim,
               int64_t width, std::span<const size_t> outermost) {
  const std::vector<int64_t>& shape = graph.info(access.tensor).shape;
  const std::span<const ExprId> index = graph.pool.read_index(access.read);
  const auto over_reduction = [&](size_t d) {
    const ExprId roots[] = {index[d]};
    return std::ranges::any_of(reachable(graph.pool, roots), [&](ExprId id) {
      return graph.pool.is(id, Op::Axis) && graph.pool.axis_number(id) >= stage.domain.output_rank;
    });
  };
  const bool split = width > 1 && shape[dim] > width;
  Packing packing;
  std::vector<bool> placed(shape.size(), false);
  placed[dim] = true;
  const auto place = [&](size_t d) {
    packing.dimensions.push_back({d, 1, 0});
    placed[d] = true;
  };
  for (size_t axis : outermost)
    if (const size_t d = dimension_of(graph, access, axis); d != SIZE_MAX && !placed[d]) place(d);
  for (size_t d = 0; d < shape.size(); ++d)
    if (!placed[d] && !over_reduction(d)) place(d);
  if (split) packing.dimensions.push_back({dim, width, 0});
  for (size_t d = 0; d < shape.size(); ++d)
    if (!placed[d]) place(d);
  packing.dimensions.push_back({dim, 1, split ? width : 0});
  return packing;
}

Packing as_it_is(const Graph& graph, TensorId operand) {
  Packing packing;
  for (size_t d = 0; d < graph.info(operand).shape.size(); ++d)
    packing.dimensions.push_back({d, 1, 0});
  return packing;
}

Packing in_pairs(Packing packing, size_t dim) {
  for (PackedDimension& d : packing.dimensions)
    if (d.dim == dim) d.divisor = 2;
  packing.dimensions.push_back({dim, 1, 2});
  return packing;
}

}  // namespace adjit::sched
