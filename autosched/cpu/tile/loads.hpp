// autosched/cpu/tile/loads.hpp -- what a register tile's loads cost in one step of its reduction.
#pragma once

#include <optional>
#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"
#include "autosched/cpu/tile/window_reuse.hpp"

namespace adjit::sched {

/// Cycles of a load whose lanes are apart: whole vectors and shuffles for small distances
/// (jit/emit/shape/lane_windows.hpp), else an element at a time.
double gather_cost(const MemoryAccess& access, size_t axis, int64_t lanes, const CoreCosts& core);

/// Cycles to load a piece of each lane's row and to transpose them: a load a lane, insertions that
/// make them whole vectors, and rounds of shuffles. They are the vectors of `piece` points.
double row_load_cost(int64_t lanes, int64_t piece, const CoreCosts& core);

/// Cycles of an operand's loads in one step.
double load_cost(const TileSetting& t, const WindowReuse& windows, size_t read,
                 const std::vector<int64_t>& factors);

/// Cycles more for a vector whose elements are gathered from a line each, where these lines drive
/// each other out of L1 before the next step reads their next elements.
double far_lanes(const TileSetting& t, const MemoryAccess& access,
                 const std::vector<int64_t>& factors);

}  // namespace adjit::sched
