// autosched/cpu/tile/matmul_like.hpp -- stages that are like a matrix product, and the blocks that
// they run in.
//
// In C[i, j] += A[i, k] B[k, j] with lanes along j, the rows i use the lanes' operand B again, and
// A is walked with them.
#pragma once

#include <optional>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"

namespace adjit::sched {

/// The rows' axis: an unrolled output axis on which the lanes' operands do not depend and others
/// do. nullopt: the stage is not like a matrix product.
std::optional<size_t> rows_axis(const Stage& stage, const TileChoice& tile,
                                const Accesses& accesses);

/// Steps of a product's reduction before the next results, where it does not run as a whole.
int64_t reduction_block();
/// Bytes of the rows' operand that so many rows walk in one block of the reduction.
double row_bytes(const Stage& stage, int64_t rows);

/// Whether a copy of the lanes' operand in the loops of the product pays more than one of the whole
/// operand before it: rows of the operand are far apart, it takes a clear part of L2
/// (so that the whole copy would go through the next one), and all rows of the result that use a
/// panel of it run next to each other, their operand staying in the cache.
bool copies_panels(const Graph& graph, const Stage& stage, const MemoryAccess& operand,
                   const TileChoice& tile, const Accesses& accesses, const CpuMachine& machine);

/// Whether the cores' L2 caches keep nothing of an operand from one pass to the next.
bool leaves_caches(const Graph& graph, const MemoryAccess& operand, const CpuMachine& machine);

/// Steps of the reduction that run over all columns of a task before the next ones, in place of
/// copied panels: rows of the operand are then read where they lie, and fetched before their turn.
/// For few rows, whose results stay in L2 meanwhile; 0: they do not.
int64_t streamed_steps(const Graph& graph, const Stage& stage, const TileChoice& tile,
                       const Accesses& accesses, const CpuMachine& machine);

}  // namespace adjit::sched
