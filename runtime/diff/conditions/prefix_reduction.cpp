// runtime/diff/conditions/prefix_reduction.cpp -- recognising them.
#include "runtime/diff/conditions/prefix_reduction.hpp"

namespace adjit::diff {

std::optional<Running> prefix_reduction(const ExprPool& pool, const Stage& stage) {
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
  if (!axis || domain.extents[*axis] != domain.extents[r] || domain.extents[r] < kShortestRunning)
    return std::nullopt;
  for (ExprId id : reachable(pool, stage.bodies))
    if (pool.is(id, Op::Axis) && pool.axis_number(id) == *axis) return std::nullopt;
  // i - r >= 0: from the front; r - i >= 0: from the back; -1: without i itself.
  return Running{*axis, sign == 1, row.constant() == -1};
}

}  // namespace adjit::diff
