// jit/emit/shape/tile_at_hand.hpp -- what a read may suppose of the tile that is being emitted.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

struct TileAtHand {
  std::vector<int64_t> trips;  // of each unrolled loop; empty: not known
  /// Whether the domain's constraints hold for all instances, so that each may read what the others
  /// do.
  bool constraints_hold = false;
  /// Whether the innermost scope is one of several branches in a row: vectors that it could load
  /// before it are loaded in it, since no registers hold all those of all branches.
  bool branched = false;
};

}  // namespace adjit::emit
