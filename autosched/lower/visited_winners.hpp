// autosched/lower/visited_winners.hpp -- ArgMax and ArgMin whose payload may be any integer.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// The graph with the same values in which no payload of an ArgMax or ArgMin can be the least
/// integer of its dtype, by which compiled code knows that it has visited no point yet (no_payload
/// in jit/emit/operations/combine.hpp). Where the ranges of what a payload is made of do not
/// exclude that integer, as where data gives it, the reduction becomes a Custom one with a third
/// component: whether a point has been visited. Inside scans and calls, too.
Graph with_visited_winners(const Graph& graph);

}  // namespace adjit::sched
