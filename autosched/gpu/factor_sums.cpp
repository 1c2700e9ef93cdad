// autosched/gpu/factor_sums.cpp -- sums whose terms have factors in common along a short axis.
#include "autosched/gpu/factor_sums.hpp"

#include <array>
#include <optional>
#include <utility>

#include "autosched/analysis/reads/factored_sum.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kBothEnds = 2;   // of an interval, or of a cell of a grid in a dimension
constexpr size_t kMostAxes = 62;   // of a set of axes that are told apart
constexpr size_t kLongBody = 512;  // nodes of a body that is not made twice as long: a guess

std::optional<size_t> axis_to_take(const LoweredGraph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  const Domain& domain = stage.domain;
  if (domain.rank() > kMostAxes || reachable(pool, stage.bodies).size() > kLongBody)
    return std::nullopt;
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis) {
    if (domain.extents[axis] != kBothEnds) continue;
    const FactoredSum terms = factored_sum(graph, stage, axis);
    if (terms.refusal) continue;
    diff::AxisSet alone = 0, others = 0;
    for (const ExprId factor : terms.invariant) alone |= diff::axes_used(pool, factor);
    for (const ExprId other : {terms.dependent, terms.condition})
      if (other.valid()) others |= diff::axes_used(pool, other);
    for (size_t a = 0; a < domain.output_rank; ++a)
      if (domain.extents[a] > 1 && (alone & ~others & diff::bit(a)) != 0) return axis;
  }
  return std::nullopt;
}

// The stage as a program of its own with the axis taken out, if it takes no longer then.
bool pays(const Program& program, size_t s, size_t axis, const GpuMachine& machine) {
  const Program part = part_of(program, std::array{s});
  const bool from_memory = leaves_l2(program, machine);
  return microseconds_of_part(factor_out(part, 0, axis), machine, from_memory) <=
         microseconds_of_part(part, machine, from_memory);
}

}  // namespace

Program factor_sums(Program program, const GpuMachine& machine) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_alone(program, s)) continue;
    while (const std::optional<size_t> axis =
               axis_to_take(program.graph, program.graph.stages[s])) {
      if (!pays(program, s, *axis, machine)) break;
      program = factor_out(std::move(program), s, *axis);
    }
  }
  return program;
}

}  // namespace adjit::sched
