// autosched/cpu/passes/reductions/output_layout.hpp -- where the results of a sum of products lie.
//
// Lanes along an axis of the results that is not their innermost dimension store every element by
// itself. Once, that is as much as a copy takes; a reduction in passes (outer_reduction.hpp) loads
// and stores partial results again and again: the weight gradient of a convolution with stride 2,
// whose lanes are output channels.
#pragma once

#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether a contraction, of which no loops are made yet, is to compute its results with the axis
/// of the tile's lanes innermost (transpose_output in moves.hpp): this tile would store each by
/// itself, with no copies beside it in its row, its reduction comes in passes, and beside its
/// arithmetic a copy of the results is little.
bool wants_lanes_innermost(const Program& program, size_t stage, const TileChoice& tile,
                           const CpuMachine& machine);

}  // namespace adjit::sched
