// runtime/diff/conditions/prefix_reduction.hpp -- reductions that take time in proportion to their
// results.
//
//   y[i, j] = sum over r <= i of f(r, j)     runs on along i:     acc[j] = acc[j] + f(i, j);
//   y[i, j] = acc[j]
// for i = 0, 1, ... (or backwards for r >= i). A second row of the domain would make a triangle of
// it, so no pass adds one, however many points it takes.
#pragma once

#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// A reduction that runs on along an output axis: the point i of the axis holds the combination of
/// the bodies at all points before it (behind it, if reverse) and, unless exclusive, its own.
struct Running {
  size_t axis = 0;
  bool reverse = false, exclusive = false;
};

/// Steps below which a triangle is as good as a reduction that runs on.
inline constexpr int64_t kShortestRunning = 8;

/// How a stage runs on that has one reduction axis r, bounded by one row, r <= i, r < i, r >= i or
/// r > i for an output axis i of the same extent (at least kShortestRunning), and whose bodies do
/// not use i.
std::optional<Running> prefix_reduction(const ExprPool& pool, const Stage& stage);

}  // namespace adjit::diff
