// jit/emit/shape/row_pieces.hpp -- pieces of rows: what neighbouring instances of a tile hold of
// each lane's row.
#pragma once

#include <vector>

#include "jit/emit/shape/nest_shape.hpp"

namespace adjit::emit {

/// Elements of a row of that result which go to memory at once: 16 bytes; at least 1.
int64_t elements_in_piece(const Program& program, const Stage& stage, size_t component);

/// The instances of `all` that hold one piece of each lane's row together with this one, in the
/// order of the row; none where they are not all there. Rows run along the unrolled loop `along`.
std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                            const TileInstance& instance, size_t along,
                                            int64_t elements);

}  // namespace adjit::emit
