// autosched/moves/zero_factors.hpp -- what must hold where a factor that is zero stands for
// conditions of a sum's domain.
#pragma once

#include <array>
#include <span>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Of an index, whether the domain proves that it is not negative, and that it is below the extent.
std::array<bool, 2> proven_sides(const ExprPool& pool, const Domain& domain, ExprId index,
                                 int64_t extent);

/// Whether none of these tensors has places without a value, where a maximum or minimum is
/// infinite: zero times that is no zero.
bool have_values(const Graph& graph, std::span<const TensorId> tensors);

/// Whether the rows of a stage's domain say no more than that what it reads is inside its tensors,
/// as those of a convolution's padding do: zeros around an operand may stand for them. Those of a
/// user's condition (a triangle of terms) may not, where another factor is no number.
bool rows_follow_from_reads(const Graph& graph, const Stage& stage);

}  // namespace adjit::sched
