// jit/emit/shape/row_pieces.hpp -- pieces of rows: what neighbouring instances of a tile hold of
// each lane's row.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/shape/nest_shape.hpp"

namespace adjit::emit {

/// Elements of a row of that result which go to memory at once: 16 bytes; at least 1.
int64_t elements_in_piece(const Program& program, const Stage& stage, size_t component);

/// The instances of `all` that hold one piece of each lane's row together with this one, in the
/// order of the row; none where they are not all there. Rows run along the unrolled loop `along`.
std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                            const TileInstance& instance, size_t along,
                                            int64_t elements);

/// Vectors whose 16-byte parts hold a piece of a row each (of rows r, r + G, ... in vector r of G),
/// as vectors that hold an element of each row; and the other way round.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, unsigned lanes,
                                     const std::vector<llvm::Value*>& rows);

/// A piece of a row for each lane, of vectors that hold those of lanes r, r + G, ... each (what
/// `transposed` gives for the vectors of a piece's instances).
std::vector<llvm::Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                         const std::vector<llvm::Value*>& vectors);

}  // namespace adjit::emit
