// autosched/cpu/passes/pack/bf16_pairs.hpp -- operands of which one instruction takes two points of
// a reduction.
//
// Sums of products of bfloat16 in single precision (AVX512-BF16): both operands have the two points
// side by side, the lanes' operand for every lane.
#pragma once

#include <optional>
#include <span>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// The reduction axis whose points come in pairs: an index by itself in both operands. Where it is
/// contiguous already, nothing has to be copied for it.
std::optional<size_t> pair_axis(const Graph& graph, const Stage& stage, const Accesses& accesses,
                                const CpuMachine& machine);

/// The copy that puts an operand's pairs along `axis` side by side, for the lanes or for the rows
/// of the tile, `tasks` being axes that stay outermost; nothing where the lanes would still not be.
std::optional<Packing> pairs_of(const Graph& graph, const Stage& stage, const MemoryAccess& access,
                                const TileChoice& tile, size_t axis, std::span<const size_t> tasks);

}  // namespace adjit::sched
