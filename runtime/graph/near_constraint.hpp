// runtime/graph/near_constraint.hpp -- a constraint with numbers that code can count.
//
// Code asks constraints in 64 bits, and loops take multiples and quotients of theirs as bounds:
// those of a constraint with numbers near 2^63 have more. With 0 <= i < 8, where i + 2^62 j - 1 >=
// 0 holds, i + j
// - 1 >= 0 does: 2^62 decides alone wherever j != 0, and so does 1. Constraints of this kind come
// from comparisons of an index with a number near the ends of int64.
#pragma once

#include <optional>

#include "runtime/graph/domain.hpp"

namespace adjit::graph {

/// A form that is >= 0 (== 0 for an equality) at the same points of the domain's box. nullopt where
/// that is every point; the constant -1 where it is none. Forms without a number beyond `farthest`
/// stay as they are, and so do those whose large numbers decide together, 2^61 i - (2^61 - 3) j.
std::optional<Affine> near_constraint(const Affine& form, bool equality, const Domain& domain,
                                      int64_t farthest);

}  // namespace adjit::graph
