// autosched/invariant_layouts.hpp -- what every step of a scan reads, in the layout that it wants.
//
// Worked example: a step sums h[b, k] * W[j, k] over k for each j. Vectors run along j, so that W
// would be packed with j innermost in every step. It is turned round once, before the loop:
//   WT[k, j] = W[j, k], and the step reads WT[k, j].
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit {

/// Turns round those fixed operands of a scan (a stage not in the graph yet) whose last dimension
/// all reads of its step walk by a reduction while another dimension follows the last output axis:
/// the copies are appended to the graph, the scan and its body read them instead.
void arrange_invariants(Graph& graph, Stage& scan);

}  // namespace adjit
