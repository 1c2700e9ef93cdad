// autosched/lower_running.cpp -- recognising prefix reductions.
#include "autosched/lower_running.hpp"

#include <algorithm>

#include "runtime/diff/rewrite.hpp"

namespace adjit {
namespace {

constexpr int64_t kShortest = 8;  // below, a triangle is as good

std::optional<Running> running_along(const Graph& graph, const Stage& stage) {
  const Domain& domain = stage.domain;
  if (stage.kind != StageKind::Compute || stage.combiner.kind == CombinerKind::None ||
      domain.reduction_rank() != 1 || domain.inequalities.size() != 1 ||
      !domain.equalities.empty() || !domain.divisions.empty())
    return std::nullopt;
  const size_t r = domain.output_rank;
  const Affine& row = domain.inequalities[0];
  const int64_t sign = row.coefficient(r);
  if ((sign != 1 && sign != -1) || (row.constant() != 0 && row.constant() != -1))
    return std::nullopt;
  std::optional<size_t> axis;
  for (size_t a = 0; a < r; ++a) {
    if (row.coefficient(a) == 0) continue;
    if (axis || row.coefficient(a) != -sign) return std::nullopt;
    axis = a;
  }
  if (!axis || domain.extents[*axis] != domain.extents[r] || domain.extents[r] < kShortest)
    return std::nullopt;
  for (ExprId id : reachable(graph.pool, stage.bodies))
    if (graph.pool.is(id, Op::Axis) && graph.pool.axis_number(id) == *axis) return std::nullopt;
  // i - r >= 0: from the front; r - i >= 0: from the back; -1: without i itself.
  return Running{*axis, sign == 1, row.constant() == -1};
}

}  // namespace

Graph lower_running(const Graph& source) {
  Graph graph = source;
  for (Stage& stage : graph.stages) {
    const std::optional<Running> running = running_along(graph, stage);
    if (!running) continue;
    std::vector<ExprId> now = axes(graph.pool, stage.domain.output_rank);
    now.push_back(graph.pool.axis(running->axis));
    stage.bodies = substitute_axes(graph.pool, stage.bodies, now);
    stage.domain.extents.pop_back();
    stage.domain.inequalities.clear();
    stage.running = running;
  }
  return graph;
}

}  // namespace adjit
