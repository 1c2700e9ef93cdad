// autosched/cpu/passes/loops/interchange_reductions.hpp -- which loop over a reduction goes inside
// which.
#pragma once

#include <optional>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// The reduction axis of a sum of products that should be walked inside the others although an
/// operand takes smaller steps along another one: the longest, where that other one is so short
/// (taps of a convolution) that entering its loop costs as much as running it.
std::optional<size_t> long_axis(const Graph& graph, const Stage& stage, const Accesses& accesses);

/// The same copy with dimension `dim` just outside the innermost one: what a loop over it reads is
/// close together.
Packing walked_along(Packing packing, size_t dim);

/// A copy of an operand of the stage in the order in which its loops over the reduction will read.
Packing as_walked(const Graph& graph, const Stage& stage, const Accesses& accesses,
                  const MemoryAccess& operand, Packing packing);

/// Whether the tile of a stage walks `long_axis` close together, now that it reads a copy of an
/// operand in that order (`before`: its accesses before): the lanes read other operands, which the
/// tile packs or whose lines stay in L1.
bool walks_closely(const Graph& graph, const Stage& stage, const Accesses& accesses,
                   const Accesses& before, const TileChoice& tile, const CpuMachine& machine);

/// Puts small axes (taps of a convolution) and axes that an operand walks contiguously inside the
/// other reduction loops, `long_axis` inside these where the rows that it reads stay in
/// L1, and axes of few points whose bounds depend on conditions outside. Any thread.
Program order_reductions(Program program, size_t stage, const Accesses& accesses,
                         const CpuMachine& machine);

}  // namespace adjit::sched
