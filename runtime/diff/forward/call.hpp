// runtime/diff/forward/call.hpp -- the tangent of a call is a call of the body's derivative.
#pragma once

#include "runtime/diff/rules/tangent_map.hpp"

namespace adjit::diff {

/// Replaces graph.stages[stage] (Call) by the call that gives its results and their tangents, to be
/// recomputed by reverse mode as the call was. `clean` is passed on to the derivation of the body.
/// ErrorCode::NotDifferentiable for opaque calls, and for those with a gradient by hand, which says
/// nothing about tangents.
void push_call(Graph& graph, TangentMap& map, size_t stage, bool clean);

}  // namespace adjit::diff
