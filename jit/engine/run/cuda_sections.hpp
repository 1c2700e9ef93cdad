// jit/engine/run/cuda_sections.hpp -- which steps of a plan are one launch of a graph, and which
// kernels of it wait for which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "autosched/machine/gpu_machine.hpp"
#include "jit/engine/plan/plan.hpp"

namespace adjit::engine {

/// A launch of a kernel. It begins when those before it in the graph that it waits for are done.
struct GraphNode {
  static constexpr size_t kJoin = SIZE_MAX;
  size_t kernel = kJoin;      // of the plan; kJoin: nothing, for others to wait for
  std::vector<size_t> waits;  // earlier nodes, ascending
  bool operator==(const GraphNode&) const = default;
};

/// Steps of a plan that follow each other. Sections run one after the other.
struct CudaSection {
  size_t begin = 0, end = 0;     // of the plan's steps
  std::vector<GraphNode> graph;  // in the order of a run; empty: kernels are launched one by one
};

/// Of all steps, in order; those of kLeastGraphKernels to kMostGraphKernels (gpu_machine.hpp) are
/// graphs. Scans are unrolled into the graph around them, but for those of more launches, and for
/// loops that end where data says so: these are sections of their own without a graph. Kernels
/// without tasks are no nodes.
std::vector<CudaSection> sections_of(const ExecutionPlan& plan);

inline std::span<const StepPlan> steps_of(const ExecutionPlan& plan, const CudaSection& section) {
  return std::span(plan.steps).subspan(section.begin, section.end - section.begin);
}

}  // namespace adjit::engine
