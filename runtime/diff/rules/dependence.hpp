// runtime/diff/rules/dependence.hpp -- which tensors depend on some tensors: one walk over the
// stages.
#pragma once

#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Marks (one flag per tensor; `marked` gives the flags to start from) every float result of a
/// stage that reads a marked tensor. Nothing passes stop_gradient. A scan counts as one stage: all
/// its float results depend on all its operands.
std::vector<char> differentiably_dependent(const Graph& graph, std::vector<char> marked);

/// The inputs of a scan's step (one flag per input) that are flagged, or are carries that the step
/// makes depend on a flagged input, over any number of steps. At most carries + 1 walks.
std::vector<char> dependent_inputs(const Scan& scan, std::vector<char> flagged);

}  // namespace adjit::diff
