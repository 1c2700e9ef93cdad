// autosched/analysis/moving_axes.hpp -- which axes of a stage a value in it changes with.
#pragma once

#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Per axis of the domain, whether a value changes with it. Integers count as what they are: over
/// 0 <= i < 4 and 0 <= j < 3, x[(3 * i + j) // 3] changes with i alone.
std::vector<bool> moving_axes(const ExprPool& pool, ExprId value, const Domain& domain);

}  // namespace adjit::sched
