// runtime/diff/partition/partition.hpp -- one joint graph cut into a forward with residuals and a
// backward.
#pragma once

#include <cstdint>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Where forward and backward run apart (vjp, torch, export), the backward needs values of the
/// forward: residuals.
struct Partition {
  Graph forward;   // inputs: the primal inputs; outputs: the primal outputs, then the residuals
  Graph backward;  // inputs: the residuals, then the cotangents; outputs: the gradients
  size_t residuals = 0;
  int64_t residual_bytes =
      0;  // bytes kept between the two, primal inputs that are merely passed on not counted
  int64_t recomputed_points = 0;  // domain points of forward stages that the backward runs again
};

/// Cuts `joint` (as vjp(..., keep_outputs = true) gives it: primal inputs then cotangents; primal
/// outputs then gradients) by a minimum cut of the bytes saved. Stages that only elementwise work
/// separates from saved values are recomputed; reductions, scans, scatters and calls are never
/// recomputed unless the bytes saved would exceed `memory_budget` (negative: no bound), in which
/// case the largest residuals are recomputed until it fits. ErrorCode::Schedule, naming what would
/// still be saved, where nothing more can be.
Partition partition(const Graph& joint, size_t forward_inputs, size_t forward_outputs,
                    int64_t memory_budget);

}  // namespace adjit::diff
