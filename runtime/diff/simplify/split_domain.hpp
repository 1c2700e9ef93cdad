// runtime/diff/simplify/split_domain.hpp -- the domains of a sum inside a sum.
//
// Worked example, sum_{j, k} over k <= j of a[i, j] * b[j, k], i over 9, j and k over 5, split so
// that k is summed inside: the inner sum runs over (j | k) with k <= j, the outer one over (i | j).
// With j + 2 <= k instead, the outer one gets the row j <= 2: where the inner sum has no term,
// neither has the whole.
#pragma once

#include <optional>
#include <span>

#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/graph/domain.hpp"

namespace adjit::diff {

/// The axes that rows (or divisions in them) know together with one of these, these included.
AxisSet row_neighbours(const Domain& domain, AxisSet axes);

/// The domain over these axes, in this order, `output_rank` of them output axes: with the divisions
/// and rows that know no other axis.
Domain select_axes(const Domain& domain, std::span<const size_t> axes, size_t output_rank);

/// The points that a domain of fewer than 63 axes has along these axes, in this order,
/// `output_rank` of them output axes; nullopt when rows that say just that cannot be found.
std::optional<Domain> projected_domain(const Domain& domain, std::span<const size_t> axes,
                                       size_t output_rank);

struct SplitDomain {
  Domain inner;  // output axes: `kept`, ascending; reduction axes: `reduced`, ascending
  Domain outer;  // all axes but `reduced`
};
/// Splits a domain of fewer than 63 axes: each part has the points that the domain has along its
/// axes, no more, and both together are the domain's points. `kept` holds the neighbours of
/// `reduced`, a set of reduction axes. nullopt when that cannot be shown.
std::optional<SplitDomain> split_domain(const Domain& domain, AxisSet kept, AxisSet reduced);

}  // namespace adjit::diff
