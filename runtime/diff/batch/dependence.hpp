// runtime/diff/batch/dependence.hpp -- which tensors depend on batched inputs.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// One flag per tensor, given one per input. A carry of a scan depends where its initial value does
/// or a step makes it so, or where the number of steps does; a stacked result where its slice does;
/// the results of a call where its body's do, all of them where the call has a gradient by hand.
std::vector<char> batched_tensors(const Graph& graph, std::span<const char> inputs);

/// One flag per input of a scan's step, given the flags of the tensors around it: a carry is
/// batched where any step makes it so. At most carries + 1 walks over the step.
std::vector<char> batched_step_inputs(const Stage& scan, std::span<const char> tensors);

/// The flags of a graph's outputs.
std::vector<char> batched_outputs(const Graph& graph, std::span<const char> inputs);

}  // namespace adjit::diff
