// autosched/gpu/fuse_columns.hpp -- rows computed in the pass that adds up their columns.
//
// The gradients of a layer norm: that of its input row by row, those of its scale and shift as sums
// over all rows, of the same two tensors. As kernels of their own, either reads both. A block that
// goes through some rows computes each of them and adds it to its sums; a second kernel adds up
// those of all blocks.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Computes pointwise stages that read what a sum over rows reads, or that it reads, in that sum's
/// loops (compute_with, compute_at), and there what they need of a row (fuse_rows). The sum is
/// taken in strips (rfactor) where its results alone would not keep all multiprocessors busy. Where
/// the model of costs does not predict that this takes less time, everything stays as it is.
Program fuse_columns(Program program, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program fuse_columns(Program program, const GpuMachine& machine) {
  Choices own;
  return fuse_columns(std::move(program), machine, own);
}

}  // namespace adjit::sched
