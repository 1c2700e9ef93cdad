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

bool rows_follow_from_reads(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  Domain inside = stage.domain;
  inside.inequalities.clear();
  inside.equalities.clear();
  for (ExprId id : reachable(pool, stage.bodies)) {
    if (!pool.is(id, Op::Read)) continue;
    const std::vector<int64_t>& shape = graph.info(pool.read_tensor(id)).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::optional<IndexForm> at = index_form(pool, pool.read_index(id)[d], inside);
      if (!at) continue;
      inside = std::move(at->domain);
      inside.inequalities.push_back(at->form);
      inside.inequalities.push_back(Affine(shape[d] - 1) - at->form);
    }
  }
  return std::ranges::all_of(stage.domain.inequalities,
                             [&](const Affine& row) { return implies(inside, row); }) &&
         std::ranges::all_of(stage.domain.equalities,
                             [&](const Affine& row) { return implies_zero(inside, row); });
}

}  // namespace adjit::sched
