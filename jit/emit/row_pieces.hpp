// jit/emit/row_pieces.hpp -- vectors of which some lanes go to memory, and pieces of rows: what
// neighbouring instances of a tile hold of each lane's row.
#pragma once

#include <vector>

#include "jit/emit/body.hpp"
#include "jit/emit/nest_shape.hpp"

namespace adjit::emit {

/// Stores the lanes of the mask. Lanes that are known to be the first few go as pieces of a power
/// of two each: without mask registers a masked store is a microprogram on some processors (42
/// operations on Zen 3).
void store_lanes(llvm::IRBuilder<>& builder, const VectorMath& math, llvm::Value* value,
                 llvm::Value* pointer, llvm::Align align, llvm::Value* mask);

/// Elements of a row of that result which go to memory at once: 16 bytes; at least 1.
int64_t elements_in_piece(const Program& program, const Stage& stage, size_t component);

/// The instances of `all` that hold one piece of each lane's row together with this one, in the
/// order of the row; none where they are not all there. Rows run along the unrolled loop `along`.
std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                            const TileInstance& instance, size_t along,
                                            int64_t elements);

/// A piece of a row for each lane, of vectors that hold those of lanes r, r + G, ... each (what
/// BodyEmitter::transposed gives for the vectors of a piece's instances).
std::vector<llvm::Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                         const std::vector<llvm::Value*>& transposed);

}  // namespace adjit::emit
