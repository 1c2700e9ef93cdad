// autosched/gpu/factor_sums.cpp -- sums whose terms have factors in common along a short axis.
#include "autosched/gpu/factor_sums.hpp"

#include <optional>
#include <utility>

#include "autosched/analysis/reads/factored_sum.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Both ends of an interval, or of a cell of a grid in a dimension.
constexpr int64_t kBothEnds = 2;
constexpr size_t kMostAxes = 62;  // of a set of axes that are told apart

diff::AxisSet axes_of_factors(const diff::Product& product) {
  diff::AxisSet axes = 0;
  for (const diff::Factor& factor : product.factors) axes |= factor.axes;
  return axes;
}

std::optional<size_t> axis_to_take(LoweredGraph& graph, const Stage& stage) {
  const Domain& domain = stage.domain;
  if (domain.rank() > kMostAxes) return std::nullopt;
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis) {
    if (domain.extents[axis] != kBothEnds) continue;
    const FactoredSum terms = factored_sum(graph, stage, axis);
    if (terms.refusal) continue;
    diff::AxisSet others = axes_of_factors(terms.dependent);
    if (terms.condition.valid()) others |= diff::axes_used(graph.pool, terms.condition);
    const diff::AxisSet alone = axes_of_factors(terms.invariant) & ~others;
    for (size_t a = 0; a < domain.output_rank; ++a)
      if (domain.extents[a] > 1 && (alone & diff::bit(a)) != 0) return axis;
  }
  return std::nullopt;
}

}  // namespace

Program factor_sums(Program program) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_alone(program, s)) continue;
    while (const std::optional<size_t> axis = axis_to_take(program.graph, program.graph.stages[s]))
      program = factor_out(std::move(program), s, *axis);
  }
  return program;
}

}  // namespace adjit::sched
