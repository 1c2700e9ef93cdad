// runtime/diff/forward/reducer.hpp -- custom reducers of dual numbers.
#pragma once

#include "runtime/diff/rules/tangent_map.hpp"

namespace adjit::diff {

/// Turns graph.stages[stage] (a Compute stage with a custom combiner) into the reducer of its dual
/// numbers: one more component per float component, its tangent. For combine(a, b) the tangent
/// component is d combine(a, b) (t_a, t_b), and its identity is 0; the result is associative where
/// `combine` is. Worked example, combine = a0 * b0 with identity 1:
///   (a0, ta0) * (b0, tb0) = (a0 * b0, ta0 * b0 + a0 * tb0), identity (1, 0).
/// Does nothing when all tangents are zero.
void push_custom(Graph& graph, TangentMap& map, size_t stage);

}  // namespace adjit::diff
