// autosched/gpu/loops/tile_shape.hpp -- how many results of a stage, and terms, a thread computes
// side by side, and the loops of that.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Per axis of a stage.
struct TileShape {
  std::vector<int64_t> unrolled;  // results, or terms, of a thread side by side
  std::vector<int64_t> threads;   // of a reduction: that add up together
  int64_t lanes = 1;              // of the last output axis

  auto operator<=>(const TileShape&) const = default;
};

/// Gives the plain nest of a kernel's root these loops: results in parallel, then what each thread
/// goes through, its tile innermost.
Program register_tile_loops(Program program, size_t stage, const TileShape& shape);

/// Computes the stage `sum` in the loops of the stage `reader`, which alone reads it, point by
/// point: each thread a tile of both. Both are kernels with plain nests. No threads add up
/// together.
Program sum_loops(Program program, size_t sum, size_t reader, const TileShape& shape);

}  // namespace adjit::sched
