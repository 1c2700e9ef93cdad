// autosched/analysis/reads/factored_sum.cpp -- terms of a sum, taken apart by an axis.
#include "autosched/analysis/reads/factored_sum.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "autosched/analysis/work.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::sched {
namespace {

constexpr double kMostWeight = 16;  // a guess: weights of interpolations are 1 and less

// What the magnitude of an expression is at most wherever it is a number; infinity: unknown.
class Magnitudes {
 public:
  Magnitudes(const ExprPool& pool, std::span<const int64_t> extents)
      : pool_(pool), ranges_(pool, extents) {}

  double of(ExprId root) {
    for (const ExprId id : reachable(pool_, std::span(&root, 1)))
      known_.try_emplace(id.value, 0).first->second = magnitude(id);
    return known_.at(root.value);
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  double magnitude(ExprId id) {
    if (!is_float(pool_.dtype(id))) return of_integer(id);
    if (const std::optional<double> value = pool_.value(id)) return std::abs(*value);
    const auto operand = [&](size_t k) { return known_.at(pool_.operand(id, k).value); };
    switch (pool_[id].op) {
      case Op::Neg:
      case Op::Abs:
      case Op::Cast: return operand(0);
      case Op::Select: return std::max(operand(1), operand(2));
      case Op::Min:
      case Op::Max: return std::max(operand(0), operand(1));
      case Op::Mul: return operand(0) == 0 || operand(1) == 0 ? 0 : operand(0) * operand(1);
      case Op::Add: return operand(0) + operand(1);
      case Op::Sub: return is_fraction(id) ? 1 : operand(0) + operand(1);
      case Op::Div: {
        const std::optional<double> divisor = pool_.value(pool_.operand(id, 1));
        return divisor && *divisor != 0 ? operand(0) / std::abs(*divisor) : kUnknown;
      }
      case Op::Sin:
      case Op::Cos:
      case Op::Tanh: return 1;
      default: return kUnknown;
    }
  }

  double of_integer(ExprId id) {
    const auto range = ranges_.of(id);
    return range ? std::max(std::abs(static_cast<double>(range->lo)),
                            std::abs(static_cast<double>(range->hi)))
                 : kUnknown;
  }

  // x - floor(x).
  bool is_fraction(ExprId id) const {
    const ExprId floor = pool_.operand(id, 1);
    return pool_.is(floor, Op::Floor) && pool_.operand(floor, 0) == pool_.operand(id, 0);
  }

  const ExprPool& pool_;
  Intervals ranges_;
  std::unordered_map<uint32_t, double> known_;
};

}  // namespace

ExprId factor_along(const ExprPool& pool, ExprId node, size_t axis) {
  const auto operand = [&](size_t k) { return pool.operand(node, k); };
  if (pool.is(node, Op::Neg)) return operand(0);
  if (!pool.is(node, Op::Mul) && !pool.is(node, Op::Div)) return {};
  const bool left = uses(pool, operand(0), axis), right = uses(pool, operand(1), axis);
  if (left == right || (right && pool.is(node, Op::Div))) return {};
  return operand(left ? 0 : 1);
}

FactoredSum factored_sum(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  const auto refuse = [](const char* reason) {
    FactoredSum refused;
    refused.refusal = reason;
    return refused;
  };
  const ExprPool& pool = graph.pool;
  const Domain& domain = stage.domain;
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::Sum ||
      stage.bodies.size() != 1 || running_of(graph, stage))
    return refuse("only one sum has factors");
  if (axis < domain.output_rank || axis >= domain.rank()) return refuse("it has no such axis");
  if (domain.is_bounded(axis)) return refuse("conditions bound the axis");
  FactoredSum sum;
  sum.value = stage.bodies[0];
  const DType dtype = pool.dtype(sum.value);
  if (!is_float(dtype) || accumulator_of(dtype) != dtype)
    return refuse("its terms are no floats that are added up as they are");
  if (is_choice_of_term(pool, sum.value)) {
    sum.condition = pool.operand(sum.value, 0);
    sum.value = pool.operand(sum.value, 1);
  }
  if (!uses(pool, sum.value, axis)) {
    if (!sum.condition.valid() || !uses(pool, sum.condition, axis))
      return refuse("no factor of its terms depends on the axis");
    sum.invariant.push_back(sum.value);
    return sum;
  }
  // The outermost one that is small and has others around it.
  Magnitudes magnitudes(pool, domain.extents);
  sum.dependent = sum.value;
  while (sum.invariant.empty() || magnitudes.of(sum.dependent) > kMostWeight) {
    const ExprId inside = factor_along(pool, sum.dependent, axis);
    if (!inside.valid())
      return refuse(sum.invariant.empty()
                        ? "all factors of its terms depend on the axis"
                        : "what depends on the axis may be so large that sums of it overflow");
    for (const ExprId operand : pool.operands(sum.dependent))
      if (operand != inside) sum.invariant.push_back(operand);
    sum.dependent = inside;
  }
  return sum;
}

}  // namespace adjit::sched
