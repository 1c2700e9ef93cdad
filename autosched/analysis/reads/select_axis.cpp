// autosched/analysis/reads/select_axis.cpp -- bodies with one axis fixed, counted together.
#include "autosched/analysis/reads/select_axis.hpp"

#include <algorithm>
#include <utility>

#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostNodes = 4000;  // of all copies

// Whether a select asks for this axis alone.
bool is_asked_for(const ExprPool& pool, const std::vector<ExprId>& nodes, size_t axis) {
  return std::ranges::any_of(nodes, [&](ExprId id) {
    if (!pool.is(id, Op::Select)) return false;
    const ExprId condition[] = {pool.operand(id, 0)};
    bool asked = false;
    for (const ExprId node : reachable(pool, condition)) {
      if (pool.is(node, Op::Read)) return false;
      if (!pool.is(node, Op::Axis)) continue;
      if (pool.axis_number(node) != axis) return false;
      asked = true;
    }
    return asked;
  });
}

double cost_of_copies(const ExprPool& pool, const Stage& stage, size_t axis) {
  ExprPool fixed;
  std::vector<ExprId> roots;
  for (int64_t value = 0; value < stage.domain.extents[axis]; ++value) {
    Rebuilder rebuild(pool, fixed, [&](ExprId leaf, std::span<const ExprId>) {
      return pool.is(leaf, Op::Axis) && pool.axis_number(leaf) == axis ? fixed.constant_int(value)
                                                                       : ExprId();
    });
    for (const ExprId body : stage.bodies) roots.push_back(rebuild(body));
  }
  return WorkMeter(fixed)(roots).cost;
}

}  // namespace

std::optional<DecidingAxis> deciding_axis(const LoweredGraph& graph, const Stage& stage) {
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
      running_of(graph, stage) || stage.domain.output_rank < 2)
    return std::nullopt;
  const Work work = WorkMeter(graph.pool)(stage.bodies);
  if (work.cost < thresholds().heavy_body) return std::nullopt;
  const std::vector<ExprId> nodes = reachable(graph.pool, stage.bodies);
  std::optional<DecidingAxis> best;
  for (size_t a = 0; a < stage.domain.output_rank; ++a) {
    const int64_t extent = stage.domain.extents[a];
    if (extent < 2 || extent > thresholds().instances_at_once ||
        nodes.size() * static_cast<size_t>(extent) > kMostNodes ||
        !is_asked_for(graph.pool, nodes, a))
      continue;
    const double cost = cost_of_copies(graph.pool, stage, a);
    if (cost > thresholds().select_share * work.cost * static_cast<double>(extent)) continue;
    if (!best || cost < best->cost) best = DecidingAxis{a, cost};
  }
  return best;
}

}  // namespace adjit::sched
