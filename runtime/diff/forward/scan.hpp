// runtime/diff/forward/scan.hpp -- the tangent of a scan is a scan with more carries.
//
// Step: (c', y_t) = body(c, x_t, w). With tangents:
//   (c', t_c'), (y_t, t_y_t) = jvp(body)(c, x_t, w; t_c, t_x_t, t_w)
#pragma once

#include "runtime/diff/rules/tangent_map.hpp"

namespace adjit::diff {

/// Replaces graph.stages[stage] (Scan, the last stage so far) by the scan that computes its results
/// and their tangents; only carries that depend on an operand with a tangent get one. Does nothing
/// when none does. `clean` is passed on to the derivation of the step.
void push_scan(Graph& graph, TangentMap& map, size_t stage, bool clean);

}  // namespace adjit::diff
