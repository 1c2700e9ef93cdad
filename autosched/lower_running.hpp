// autosched/lower_running.hpp -- prefix reductions in linear time.
//
//   y[i, j] = sum over r <= i of f(r, j)     becomes     acc[j] = acc[j] + f(i, j);  y[i, j] =
//   acc[j]
// for i = 0, 1, ... (or backwards for r >= i). The lowered stage has no reduction axis: its body is
// that of the point i itself, and `Stage::running` says along which axis results run on. The order
// of the operations is that of the definition.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit {

/// Every stage with one reduction axis r that is bounded by one row, r <= i, r < i, r >= i or r > i
/// for an output axis i of the same extent, and whose bodies do not use i, as a running one.
Graph lower_running(const Graph& graph);

}  // namespace adjit
