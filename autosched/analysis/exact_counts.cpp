// autosched/analysis/exact_counts.cpp -- exact counts of what stages do.
#include "autosched/analysis/exact_counts.hpp"

#include <algorithm>
#include <cmath>

#include "autosched/program/segments.hpp"
#include "runtime/domain/count.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kCountBudget = 1'000'000;

int64_t flops_per_point(const Graph& graph, const Stage& stage) {
  int64_t flops = 0;
  for (ExprId id : reachable(graph.pool, stage.bodies)) {
    const Node& node = graph.pool[id];
    if (!is_float(node.dtype) || info(node.op).rule == TypeRule::Leaf || node.op == Op::Select ||
        node.op == Op::Cast)
      continue;
    flops += node.op == Op::Fma ? 2 : 1;
  }
  const bool folds = stage.combiner.kind != CombinerKind::None;
  return flops + (folds && is_float(graph.pool.dtype(stage.bodies[0])) ? 1 : 0);
}

}  // namespace

int64_t tensor_bytes(const Graph& graph, TensorId id) {
  const TensorInfo& t = graph.info(id);
  return checked_mul(t.element_count(), static_cast<int64_t>(size_of(t.dtype)));
}

// Recursive over scans within scans.
std::optional<StageTotals> totals(const Graph& graph, const Stage& stage) {
  if (stage.kind == StageKind::Call) return std::nullopt;
  if (stage.scan && stage.scan->conditional) return std::nullopt;  // only the data tells
  if (stage.kind == StageKind::Scan) {
    StageTotals sum;
    for (const Stage& inner : stage.scan->body->stages) {
      const std::optional<StageTotals> one = totals(*stage.scan->body, inner);
      if (!one) return std::nullopt;
      sum.points = checked_add(sum.points, checked_mul(stage.scan->trips, one->points));
      sum.flops = checked_add(sum.flops, checked_mul(stage.scan->trips, one->flops));
    }
    return sum;
  }
  std::optional<int64_t> points = count_points(stage.domain, kCountBudget);
  if (!points) return std::nullopt;
  if (const std::optional<Segments> segments = segments_of(graph.pool, stage)) {
    const double share =
        mean_length(graph.pool, stage, *segments) /
        static_cast<double>(std::max<int64_t>(1, stage.domain.extents[segments->axis]));
    *points = std::llround(static_cast<double>(*points) * share);
  }
  return StageTotals{*points, checked_mul(*points, flops_per_point(graph, stage))};
}

}  // namespace adjit::sched
