// autosched/gpu/products/products.hpp -- contractions in the form of products of matrices
// (product.hpp).
//
// Matrix products of any rank, einsums, convolutions and their adjoints are one: strided adjoints
// and groups are taken apart into residues, axes become one m, one n and one k, and operands that
// are then read elsewhere than at these axes (the image of a convolution, under its conditions)
// become stages of their own, which product_loops.hpp computes a tile at a time.
#pragma once

#include "autosched/decisions/attempts.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Rewrites the contractions that are kernels of their own and have m, n and k large enough; others
/// (depthwise convolutions, say) stay as they are. `reshapes`: stages that only give results
/// another shape cost nothing later (alias_reshape); without, only those contractions whose results
/// stay as they are. Each contraction is an attempt of its own.
Program make_products(Program program, bool reshapes, Attempts& attempts);

}  // namespace adjit::sched
