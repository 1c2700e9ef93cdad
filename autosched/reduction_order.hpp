// autosched/reduction_order.hpp -- which loop over a reduction goes inside which.
#pragma once

#include <optional>

#include "autosched/access.hpp"
#include "autosched/moves.hpp"
#include "autosched/target.hpp"

namespace adjit {

/// The reduction axis of a sum of products that should be walked inside the others although an
/// operand takes smaller steps along another one: the longest, where that other one is so short
/// (taps of a convolution) that entering its loop costs as much as running it.
std::optional<size_t> long_axis(const Graph& graph, const Stage& stage, const Accesses& accesses);

/// The same copy with dimension `dim` just outside the innermost one: what a loop over it reads is
/// close together.
Packing walked_along(Packing packing, size_t dim);

/// Puts small axes (taps of a convolution) and axes that an operand walks contiguously inside the
/// other reduction loops, `long_axis` inside these where the rows that it reads stay in the first
/// cache, and axes of few points whose bounds depend on conditions outside. Any thread.
Program order_reductions(Program program, size_t stage, const Accesses& accesses,
                         const Target& target);

}  // namespace adjit
