// autosched/program/winners.cpp -- whether a winner's second component tells the order of points.
#include "autosched/program/winners.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include "autosched/program/graph_edit.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// Whether a step along a reduction axis adds more than all those behind it can take away.
bool grows_in_order(const Domain& domain, const Affine& form) {
  int64_t behind = 0;
  for (size_t a = domain.rank(); a-- > domain.output_rank;) {
    if (domain.extents[a] < 2) continue;
    const int64_t step = form.coefficient(a);
    if (step <= behind) return false;
    behind = checked_add(behind, checked_mul(step, domain.extents[a] - 1));
  }
  return true;
}

// The type's least value says that there is no winner yet.
template <typename Int>
bool holds(ValueRange range) {
  return range.lo > std::numeric_limits<Int>::min() && range.hi <= std::numeric_limits<Int>::max();
}

}  // namespace

bool tells_order(const Graph& graph, const Stage& stage) {
  const CombinerKind kind = stage.combiner.kind;
  if (stage.kind != StageKind::Compute ||
      (kind != CombinerKind::ArgMax && kind != CombinerKind::ArgMin))
    return false;
  const ExprPool& pool = graph.pool;
  ExprId place = stage.bodies[1];
  const DType dtype = pool.dtype(place);
  if (pool.is(place, Op::Cast)) place = pool.operand(place, 0);
  if (pool.dtype(place) != DType::Int64) return false;
  const std::optional<IndexForm> at = index_form(pool, place, stage.domain);
  if (!at || at->form.size() > stage.domain.rank()) return false;
  const ValueRange range = stage.domain.box_range(at->form);
  if (dtype == DType::Int64 ? !holds<int64_t>(range)
                            : dtype != DType::Int32 || !holds<int32_t>(range))
    return false;
  return grows_in_order(stage.domain, at->form);
}

bool threads_may_reduce(const Graph& graph, const Stage& stage) {
  return has_partial_results(stage.combiner.kind) || tells_order(graph, stage);
}

}  // namespace adjit::sched
