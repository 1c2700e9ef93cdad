// autosched/gpu/products/product_loops.hpp -- loops of products: a block computes a tile of
// results.
//
//   parallel batches, m, n            a block each
//     serial k                        what the block brings into shared memory, ahead:
//       with A[k, m], B[k, n]           asynchronous copies in several buffers
//       threads m, n                  each with a register tile
//         serial k                      and its terms
//           unrolled, vector n
#pragma once

#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Of a stage that has a product_tile() and is a kernel by itself; its operands are copied by
/// stages of their own, inside its loops. Where an earlier kernel only brings an operand into
/// another shape, for this stage alone, the copies do that, too.
Program product_loops(Program program, size_t stage, const ProductTile& tile);

/// The same sum in `tile.parts` parts, which another stage adds up; as it is where that is 1.
Program split_product(Program program, size_t stage, const ProductTile& tile);

/// Gives a product's nest, which no move has changed yet, its threads, and its operands copies with
/// so many buffers each. Returns how many loops stand outside that over k.
size_t schedule_product(Program& program, TensorId result, const ProductTile& tile,
                        int64_t buffers);

}  // namespace adjit::sched
