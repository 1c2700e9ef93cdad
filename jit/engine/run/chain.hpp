// jit/engine/run/chain.hpp -- kernels that run together, task by task.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/engine/run/frame.hpp"
#include "jit/engine/run/loaded_plan.hpp"

namespace adjit::engine {

/// Kernels of which each task runs through all. Several, and those of a scan, are parallel: a plan
/// is refused otherwise (plan_json.cpp).
struct Chain {
  const LoadedPlan* loaded;
  const Frame* frame;
  std::span<const StepPlan> kernels;
  const ScanPlan* scan;  // whose steps they are, if each task goes through all steps; or null
  std::vector<double>* seconds;  // of each kernel in each worker; null: nobody asks
};

/// Tasks begin .. end-1, in the calling thread.
void run_tasks(const Chain& chain, int64_t begin, int64_t end);

/// All tasks of a kernel or a chain of them, by the pool's threads if they are worth it.
void run_chain(const LoadedPlan& loaded, Frame& frame, std::span<const StepPlan> kernels,
               const ScanPlan* scan);

}  // namespace adjit::engine
