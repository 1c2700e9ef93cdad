// autosched/analysis/reads/select_axis.hpp -- an axis whose values say which part of a body counts.
//
// Worked example: the gradient of an array that is read at constant positions,
//   d(i, j) = select(j == 0, f(i), 0) + select(j == 1, g(i), 0) + ...
// With lanes along j, or a loop over it, every point computes f, g and all others. Copies for all j
// of a tile with lanes along i compute each of them once.
#pragma once

#include <optional>

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

struct DecidingAxis {
  size_t axis = 0;
  double cost = 0;  // of the body at all points of the axis together, in vector instructions
};

/// The short output axis of a stage without a combiner along which copies compute the least, where
/// that is much less than the body at every point.
std::optional<DecidingAxis> deciding_axis(const LoweredGraph& graph, const Stage& stage);

}  // namespace adjit::sched
