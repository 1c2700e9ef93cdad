// autosched/gpu/products/operand_copy.hpp -- what a block brings into shared memory of a product's
// operand.
//
// An operand may be computed of other tensors: a convolution's image under its conditions, the
// cotangent of an activation. Where a product alone reads it, its blocks may compute what they
// copy, each its own part, and nothing is stored: what is only a read is still copied
// asynchronously, other values wait in registers until their buffer is free.
#pragma once

#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether blocks may compute a tensor where they copy it for `reader`, which alone reads it, once:
/// no sum, a kernel of its own that has no loops yet, and found without data unless it is a read.
bool may_be_computed_by_blocks(const Program& program, TensorId tensor, const Stage& reader);

struct OperandCopy {
  Program program;
  TensorId copy;
};
/// The product that computes `result` reads a copy of its left operand, or of its right one, that a
/// stage of its own makes of the operand; or, where that is predicted to be faster, of what the
/// operand is computed of. The copy's axes are the operand's batches, k, and m or n, with zeros up
/// to whole tiles.
OperandCopy copy_operand(Program program, TensorId result, bool left, const ProductTile& tile);

/// Loops of such a copy, which is attached to its product, for so many threads: those that follow
/// each other read what does; where that is across the copy, vectors that they store apart, or else
/// sectors of it.
Program copy_loops(Program program, size_t copy, int64_t threads);

}  // namespace adjit::sched
