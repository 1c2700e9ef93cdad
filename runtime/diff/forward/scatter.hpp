// runtime/diff/forward/scatter.hpp -- the tangent of a scatter is a scatter to the same elements.
//
//   sum, assignment  scatter the tangents of the bodies, from the tangent of the initial value
//   max, min         only winners take part: ties even averages among them, ties first takes the
//                    first (the initial value, then points in domain order)
//   product          every tangent times the product of the others, exact with any number of zeros
#pragma once

#include "runtime/diff/rules/tangent_map.hpp"

namespace adjit::diff {

/// Appends the tangent of graph.stages[stage] (Scatter) and what it needs.
void push_scatter(Graph& graph, TangentMap& map, size_t stage);

}  // namespace adjit::diff
