// runtime/diff/simplify/loops/time_axis.cpp -- domains and expressions of a step over all steps.
#include "runtime/diff/simplify/loops/time_axis.hpp"

namespace adjit::diff {
namespace {

// The form over the same variables with one more axis at `position`.
Affine with_axis(const Affine& form, size_t position) {
  Affine result(form.constant());
  for (size_t k = 0; k < form.size(); ++k)
    result.set_coefficient(k < position ? k : k + 1, form.coefficient(k));
  return result;
}

}  // namespace

Domain with_time_axis(const Domain& domain, size_t at, int64_t trips, bool reduced) {
  Domain result;
  result.output_rank = domain.output_rank + (reduced ? 0 : 1);
  result.extents = domain.extents;
  result.extents.insert(result.extents.begin() + static_cast<std::ptrdiff_t>(at), trips);
  for (const Division& d : domain.divisions)
    result.divisions.push_back({with_axis(d.numerator, at), d.divisor});
  for (const Affine& row : domain.inequalities) result.inequalities.push_back(with_axis(row, at));
  for (const Affine& row : domain.equalities) result.equalities.push_back(with_axis(row, at));
  return result;
}

ExprId over_time_axis(const Graph& step, Graph& graph, ExprId body, size_t at,
                      const std::function<Outside(TensorId)>& outside) {
  Rebuilder rebuild(step.pool, graph.pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (step.pool.is(leaf, Op::Axis)) {
      const size_t axis = step.pool.axis_number(leaf);
      return graph.pool.axis(axis < at ? axis : axis + 1);
    }
    if (!step.pool.is(leaf, Op::Read)) return ExprId{};
    const Outside outer = outside(step.pool.read_tensor(leaf));
    const bool guarded = step.pool.read_predicate(leaf).valid();
    std::vector<ExprId> index;
    if (outer.sliced) index.push_back(graph.pool.axis(at));
    index.insert(index.end(), operands.begin(), operands.end() - (guarded ? 1 : 0));
    return read(graph, outer.tensor, index, guarded ? operands.back() : ExprId{});
  });
  return rebuild(body);
}

}  // namespace adjit::diff
