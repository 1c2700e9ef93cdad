// autosched/lower/final_graph.hpp -- the passes between a derivative and its schedule, in their
// order.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// The graph that is scheduled, with the values of `graph`: calls expanded, cleaned up, linear
/// scans as prefix reductions, reductions out of loops, multiply-adds contracted, long float32 sums
/// in float64, winners that any integer may belong to with a flag, every output the result of a
/// stage of its own. `simple` promises that the graph is cleaned up already, as vjp and jvp give
/// it, and holds no call and no scan.
Graph final_graph(const Graph& graph, bool simple = false);

}  // namespace adjit::sched
