// runtime/trace/ops/contractions/contraction_order.hpp -- in which order the operands of an einsum
// are joined.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/trace/ops/contractions/einsum.hpp"

namespace adjit::trace {

/// The labels of an operand with their extents. Every label is in the result or in another operand.
using LabelledExtents = std::map<int, int64_t>;

/// Two operands, by their positions in the list, that become one: the joined one takes the place of
/// `first`, `second` (which is larger) leaves the list.
struct Join {
  size_t first = 0;
  size_t second = 0;

  bool operator==(const Join&) const = default;
};

/// The joins that leave one operand of at least two, the cheapest for a gradient: a join of u
/// multiply-adds comes again, as many, in the gradient of either operand, while the result of the
/// last one is usually not needed; an element that passes from one join to another counts as 48
/// multiply-adds. So sum_ij x[b,i] w[o,i,j] y[b,j] begins with x y, unless there are few o: its
/// gradients take two products of b o i j multiply-adds instead of three. Of equal ones the one
/// that joins from left to right. A forward alone may do with fewer.
///
/// Exact for up to 8 operands (all pairs of disjoint subsets, 3^n of them); beyond, the pair of the
/// fewest multiply-adds at a time.
std::vector<Join> contraction_order(std::span<const LabelledExtents> operands, const Labels& out);

}  // namespace adjit::trace
