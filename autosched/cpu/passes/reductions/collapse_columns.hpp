// autosched/cpu/passes/reductions/collapse_columns.hpp -- columns of a product that are those of an
// image.
//
// In a 1 x 1 convolution the columns of the product are the pixels of an image, in two axes: rows
// of 28 leave 4 of 32 lanes empty, 784 pixels none. Both axes walk the operand as one would, so
// they may be one (fuse_axes in moves.hpp).
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether the last two axes of a product's results should be one, because the last one leaves
/// lanes empty. Not where short sums have an epilogue, which takes results as they are.
bool wants_one_axis_of_columns(const Program& program, size_t stage, const Accesses& accesses);

}  // namespace adjit::sched
