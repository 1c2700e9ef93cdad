// jit/emit/loads/transposed_load.hpp -- reads that are contiguous over the instances of a tile, but
// not over its lanes: short pieces of rows, transposed in registers.
//
// With G elements in 16 bytes and L lanes, one of the pieces of G elements that L rows begin with
// is a load; the pieces of rows r, r + G, ... make vector r of G; and log2(G) rounds of
// interleaving the 16-byte halves of these vectors (a perfect shuffle of the vectors, round by
// round) give the elements 0 .. G-1 of all rows. A gather takes a load and an insertion for every
// element, this a load and an insertion for G of them and log2(G) shuffles for a vector. Where the
// rows begin, data may decide: an image that has its channels innermost, at places that a flow
// names.
#pragma once

#include <optional>
#include <vector>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/shape/tile_at_hand.hpp"

namespace adjit::emit {

/// What the instances at some trips of an unrolled loop read.
struct TransposedLoad {
  size_t loop;
  int64_t first;  // trip
  std::vector<Emitted> values;
};

/// What a read without a predicate loads at a point and at its neighbours along an unrolled loop;
/// nothing where these are not contiguous, or not certainly there.
std::optional<TransposedLoad> load_transposed(const BodyContext& context, const TileAtHand& tile,
                                              ExprId read, const Point& point,
                                              const Address& address);

}  // namespace adjit::emit
