// autosched/gpu/loops/vector_lanes.hpp -- elements that a thread takes at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// How many neighbours along an axis one access of 16 bytes moves (a reduction's, one that reads):
/// 2, 4 or 8, which divide `span`, its points in a nest. 1 where what a stage reads or stores does
/// not lie side by side along it, or the axis is bounded.
int64_t lanes_along(const LoweredGraph& graph, const Stage& stage, size_t axis, int64_t span);

/// How many neighbours along an axis one load of 16 bytes reads, wherever they go: all that the
/// stage reads lies side by side along it, under the same condition, and rows of it are whole
/// vectors. Else 1.
int64_t lanes_loaded_along(const LoweredGraph& graph, const Stage& stage, size_t axis,
                           int64_t span);

}  // namespace adjit::sched
