// autosched/cpu/tile/cache_lines.hpp -- what a register tile waits for: cache lines from L2 and
// from beyond it.
#pragma once

#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"
#include "autosched/cpu/tile/window_reuse.hpp"

namespace adjit::sched {

/// What a tile reads of an operand.
struct Walked {
  double bytes = 0;          // in its whole reduction
  double rows = 1;           // that lie a line apart or farther, in one step
  double lines = 1;          // of each
  double step = kLineBytes;  // bytes to the next step, at most a line
  bool collides = false;     // more rows in one set of a cache than it has ways
};
Walked walked_in_tile(const TileSetting& t, size_t read, const std::vector<int64_t>& factors);

/// Cache lines of a step that come from L2 and show beside what else there is to do.
double streamed_lines(const TileSetting& t, const WindowReuse& windows,
                      const std::vector<int64_t>& factors);

/// Cycles in which L2 gives all lines of a step: what a tile waits for that reads more than it
/// multiplies. Less than `above` is as good as 0.
double l2_cycles(const TileSetting& t, const WindowReuse& windows,
                 const std::vector<int64_t>& factors, double above = 0);

/// Cycles more for each load of a tile whose rows are far apart: they fall into the same sets of
/// L1, more streams than that are not fetched ahead, and what comes from beyond L2 and is read once
/// comes fastest row by row.
double distance_cycles(const TileSetting& t, const MemoryAccess& access,
                       const std::vector<int64_t>& factors);

/// Cycles that memory takes longer for operands that no cache holds than the first of several
/// passes over them, when the nest computes for so many cycles: what tiles walk again is near by
/// then, and memory has nothing to do.
double memory_waits(const TileSetting& t, const std::vector<int64_t>& factors, double computing);

/// Whether each step of a long reduction needs another line from beyond L2, which tiles beside each
/// other do not share: results that are not contiguous along the lanes are not summed in blocks
/// (passes/loops/order.cpp), so the whole reduction passes before the next tile.
bool fetches_far(const TileSetting& t, const MemoryAccess& access);

}  // namespace adjit::sched
