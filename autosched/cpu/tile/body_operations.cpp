// autosched/cpu/tile/body_operations.cpp -- operations counted by the axes that they depend on.
#include "autosched/cpu/tile/body_operations.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "autosched/analysis/work.hpp"

namespace adjit::sched {
namespace {

uint64_t bit(size_t axis) { return uint64_t{1} << std::min<size_t>(axis, 63); }

}  // namespace

BodyOperations::BodyOperations(const Graph& graph, const Stage& stage, const CoreCosts& core) {
  const ExprPool& pool = graph.pool;
  std::unordered_map<uint32_t, uint64_t> axes;
  std::map<uint64_t, double> costs;
  arithmetic = 0;
  for (ExprId id : reachable(pool, stage.bodies)) {
    uint64_t mask = 0;
    if (pool.is(id, Op::Axis)) mask = bit(pool.axis_number(id));
    for (ExprId operand : pool.operands(id)) mask |= axes.at(operand.value);
    axes[id.value] = mask;
    ++nodes;
    if (pool.dtype(id) == DType::Int64) continue;
    const double cost = operation_cost(pool, id);
    costs[mask] += cost;
    arithmetic += cost;
  }
  for (ExprId body : stage.bodies) {
    // Combined at every point; a product goes into a sum by fma.
    const bool product = stage.combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul);
    const bool winner =
        stage.combiner.kind == CombinerKind::ArgMax || stage.combiner.kind == CombinerKind::ArgMin;
    const double cost = winner ? core.winner_cost : operation_cost(Op::Mul, pool.dtype(body));
    if (product) costs[axes.at(body.value)] -= cost;
    costs[~uint64_t{0}] += cost;
    arithmetic += product ? 0 : cost;
  }
  arithmetic = std::max(1.0, arithmetic);
  by_axes.assign(costs.begin(), costs.end());
}

double BodyOperations::operations(const std::vector<int64_t>& factors) const {
  double sum = 0;
  for (const auto& [mask, cost] : by_axes) {
    double in_tile = cost;
    for (size_t a = 0; a < factors.size(); ++a)
      if (mask & bit(a)) in_tile *= static_cast<double>(factors[a]);
    sum += in_tile;
  }
  return std::max(1.0, sum);
}

}  // namespace adjit::sched
