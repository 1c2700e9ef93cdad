// runtime/domain/loops.hpp -- loop bounds that visit the points of a domain in a given axis order.
//
// A nest for { (j, t) : 0 <= j < 8, 0 <= t < 3, j - t >= 0, 5 - j + t >= 0 } in the order j, t is
//     for j in [0 .. 7]  for t in [max(0, j - 5) .. min(2, j)]
// Bounds are max of ceil(form / divisor) and min of floor(form / divisor), found by Fourier-Motzkin
// from the innermost loop outwards. A row that cannot be a bound, because one of its divisions
// depends on the very axis, is a guard inside that loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/domain.hpp"

namespace adjit::domain {

/// One side of a loop: axis >= ceil(form / divisor), or axis <= floor(form / divisor).
struct Bound {
  Affine form;  // over the axes of outer loops (and axes outside the order) and divisions of those
  int64_t divisor = 1;  // >= 1
  bool operator==(const Bound&) const = default;
};

/// One loop: axis from the maximum of `lower` to the minimum of `upper`, both inclusive and never
/// empty lists.
struct LoopBounds {
  size_t axis = 0;
  std::vector<Bound> lower, upper;
  /// To be checked inside this loop, before anything deeper: forms over this axis, outer ones, and
  /// divisions known here. Body and inner loops run only where all are >= 0 (== 0).
  std::vector<Affine> guards_ge, guards_eq;

  /// Whether both bounds are single constants (divisor 1), so that the loop has a fixed trip count.
  bool constant() const;
};

struct LoopNestBounds {
  /// To be checked before the first loop: forms over axes outside the order. A domain that is
  /// provably empty has the single guard -1 >= 0 here.
  std::vector<Affine> outer_guards_ge, outer_guards_eq;
  std::vector<LoopBounds> loops;  // outermost first, as in the order
  /// Eliminations that were not exact: 0 promises that no loop but the innermost can run empty.
  int64_t inexact = 0;
};

/// Loops over `order` (axis numbers, outermost first, no repetition). Axes that are not in `order`
/// are known outside (parameters). Together, loops and guards visit exactly the points of the
/// domain: every row is a bound, a guard, or implied. Redundant bounds are dropped, constants
/// folded. Within a budget: when rows multiply beyond it, outer bounds are looser and inexact
/// counts it, but inner bounds and guards stay exact.
LoopNestBounds loop_bounds(const Domain& domain, std::span<const size_t> order);

/// All axes of the domain: output axes as they stand, then reduction axes in the order that wastes
/// fewest outer iterations (their natural order unless another one has fewer inexact eliminations).
std::vector<size_t> loop_order(const Domain& domain);

/// The rows that use `axis`, directly or through a division: what a vectorised axis turns into
/// masks.
struct AxisRows {
  std::vector<Affine> inequalities;  // >= 0
  std::vector<Affine> equalities;    // == 0
};
AxisRows rows_using(const Domain& domain, size_t axis);

/// Whether `form` depends on `axis`, directly or through a division of the domain.
bool uses_axis(const Domain& domain, const Affine& form, size_t axis);

}  // namespace adjit::domain
