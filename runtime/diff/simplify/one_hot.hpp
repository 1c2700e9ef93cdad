// runtime/diff/simplify/one_hot.hpp -- a reduction axis that data fixes leaves its sum.
//
// Worked example, a row chosen by a one-hot vector:
//   Y[i, j] = sum_k (k == I[i] ? 1 : 0) * W[k, j]
// has one non-zero term, where k is I[i], if that is a row of W at all:
//   Y[i, j] = 0 <= I[i] && I[i] < n ? W[I[i], j] : 0
#pragma once

#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Terms of a sum are structurally zero but where the reduction axis `axis` is `value`, an Int64
/// expression without that axis. `value` has a meaning only where `reached` holds (invalid:
/// everywhere).
struct FixedAxis {
  size_t axis = 0;
  ExprId value;
  ExprId reached;
};

/// What a literal says: an equality of int64 with the axis, plus or minus something affine, on one
/// side, and what is not affine, without the axis, on the other. nullopt when it says nothing of
/// that kind, or when `reached` uses the axis.
std::optional<FixedAxis> fixed_axis(ExprPool& pool, ExprId literal, ExprId reached,
                                    const Domain& domain);

/// Puts the value in the axis' place in the body of a Sum of one result, under a guard that it lies
/// on the axis and fulfils the rows that knew it. The axis stays in the domain, unused, with the
/// row axis == 0. What the value reads is in range at every point of the new domain: where only the
/// rows of the axis kept it so, their projection on the other axes joins the domain, or, where that
/// is not exact, the reads get predicates. `stage` is none of the graph's.
void fix_axis(Graph& graph, Stage& stage, FixedAxis fixed);

}  // namespace adjit::diff
