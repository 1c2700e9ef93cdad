// runtime/diff/conditions/disjunction.hpp -- a disjunction of affine conditions as disjoint
// domains.
//
// Worked example: under 0 <= i < n, 0 <= k < n, "k == i || k == i + 1" is the two domains
//   { k - i == 0 }   and   { k - i - 1 == 0 }.
// Where the alternatives overlap, each loses what earlier ones have: "k <= i || k >= i - 2" is
//   { i - k >= 0 }   and   { k - i + 2 >= 0, k - i - 1 >= 0 }.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The points of `domain` where `condition` (&&, || and ! of affine comparisons) holds, as disjoint
/// domains over the same axes. std::nullopt when part of the condition is not affine or more than a
/// few domains would be needed.
std::optional<std::vector<Domain>> disjoint_domains(ExprPool& pool, ExprId condition,
                                                    const Domain& domain);

}  // namespace adjit::diff
