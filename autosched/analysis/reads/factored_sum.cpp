// autosched/analysis/reads/factored_sum.cpp -- terms of a sum, taken apart by an axis.
#include "autosched/analysis/reads/factored_sum.hpp"

#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {

FactoredSum factored_sum(LoweredGraph& graph, const Stage& stage, size_t axis) {
  const auto refuse = [](const char* reason) {
    FactoredSum refused;
    refused.refusal = reason;
    return refused;
  };
  ExprPool& pool = graph.pool;
  const Domain& domain = stage.domain;
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::Sum ||
      stage.bodies.size() != 1 || running_of(graph, stage))
    return refuse("only one sum has factors");
  if (axis < domain.output_rank || axis >= domain.rank()) return refuse("it has no such axis");
  if (domain.is_bounded(axis)) return refuse("conditions bound the axis");
  ExprId value = stage.bodies[0];
  if (!is_float(pool.dtype(value)) || accumulator_of(pool.dtype(value)) != pool.dtype(value))
    return refuse("its terms are no floats that are added up as they are");
  FactoredSum sum;
  if (is_choice_of_term(pool, value)) {
    sum.condition = pool.operand(value, 0);
    value = pool.operand(value, 1);
  }
  const diff::Product all = factors_with_signs(pool, value);
  sum.invariant.negative = all.negative;
  for (const diff::Factor& factor : all.factors)
    (uses(pool, factor.expr, axis) ? sum.dependent : sum.invariant).factors.push_back(factor);
  if (sum.invariant.factors.empty()) return refuse("all factors of its terms depend on the axis");
  if (sum.dependent.factors.empty() && !(sum.condition.valid() && uses(pool, sum.condition, axis)))
    return refuse("no factor of its terms depends on the axis");
  return sum;
}

}  // namespace adjit::sched
