// autosched/cpu/passes/pack/panels.hpp -- layouts of copied operands: in panels, in pairs, or as
// they are.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// The operand's dimension whose index is the axis itself, or SIZE_MAX.
size_t dimension_of(const Graph& graph, const MemoryAccess& access, size_t axis);

/// Panels of `width` points of dimension `dim`, innermost; dimensions that only outputs walk go
/// outermost, before them those at which the operand is read by these `outermost` axes, in their
/// order.
Packing panels(const Graph& graph, const Stage& stage, const MemoryAccess& access, size_t dim,
               int64_t width, std::span<const size_t> outermost = {});

/// The dimensions in their order.
Packing as_it_is(const Graph& graph, TensorId operand);

/// The same copy with the points of dimension `dim` two by two innermost.
Packing in_pairs(Packing packing, size_t dim);

}  // namespace adjit::sched
