// jit/engine/run/steps.hpp -- the steps of a call, in order: kernels, graphs of tasks, scans,
// loops.
#pragma once

#include <vector>

#include "jit/engine/run/frame.hpp"
#include "jit/engine/run/loaded_plan.hpp"

namespace adjit::engine {

/// Runs steps, whose sections these are, in a frame with the addresses of the caller's arrays.
/// Recursive over scans within scans. A frame with times gets those of each kernel: then kernels
/// run one after the other.
void run_steps(const LoadedPlan& loaded, Frame& frame, const std::vector<StepPlan>& steps,
               const Sections& sections);

}  // namespace adjit::engine
