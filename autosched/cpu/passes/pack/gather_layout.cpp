// autosched/cpu/passes/pack/gather_layout.cpp -- which operands have rows that data names, and what
// these cost.
#include "autosched/cpu/passes/pack/gather_layout.hpp"

#include <algorithm>

#include "autosched/analysis/reads/gather_access.hpp"

namespace adjit::sched {
std::optional<Packing> rows_innermost(const Graph& graph, const Stage& stage,
                                      const MemoryAccess& access) {
  const int64_t piece = row_piece(graph, access.tensor);
  const bool by_data = std::ranges::find(access.by_data, true) != access.by_data.end();
  if (access.guarded || piece == 0 || !by_data) return std::nullopt;
  const std::span<const ExprId> index = graph.pool.read_index(access.read);
  for (size_t axis = stage.domain.rank(); axis-- > 0;) {
    if (stage.domain.extents[axis] + 1 < piece || access.irregular[axis]) continue;
    const std::optional<size_t> rows = dimension_walked(graph.pool, stage, index, axis);
    if (!rows) continue;
    if (access.strides[axis] == 1) return std::nullopt;
    Packing packing;
    for (const size_t d : order_of_rows(graph.pool, index, *rows))
      packing.dimensions.push_back({d, 1, 0});
    return packing;
  }
  return std::nullopt;
}

}  // namespace adjit::sched
