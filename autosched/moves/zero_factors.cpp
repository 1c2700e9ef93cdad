// autosched/moves/zero_factors.cpp -- bounds that conditions prove, and tensors that zero times is
// zero.
#include "autosched/moves/zero_factors.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/graph/index_map.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

std::array<bool, 2> proven_sides(const ExprPool& pool, const Domain& domain, ExprId index,
                                 int64_t extent) {
  const std::optional<IndexForm> at = index_form(pool, index, domain);
  if (!at) return {false, false};
  return {implies(at->domain, at->form), implies(at->domain, Affine(extent - 1) - at->form)};
}

bool have_values(const Graph& graph, std::span<const TensorId> tensors) {
  const std::vector<size_t> producers = defining_stages(graph);
  return std::ranges::all_of(tensors, [&](TensorId id) {
    if (producers[id.value] == SIZE_MAX) return true;
    const Stage& producer = graph.stages[producers[id.value]];
    const CombinerKind kind = producer.combiner.kind;
    return producer.domain.is_box() || kind == CombinerKind::None || kind == CombinerKind::Sum ||
           kind == CombinerKind::Product || kind == CombinerKind::Any || kind == CombinerKind::All;
  });
}

}  // namespace adjit::sched
