// autosched/lower/prefix.hpp -- prefix reductions in linear time.
//
// The lowered stage has no reduction axis: its body is that of the point i itself, and
// `Stage::running` says along which axis results run on. The order of the operations is that of the
// definition.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Every prefix reduction (runtime/diff/conditions/prefix_reduction.hpp) as a running stage.
Graph lower_running(const Graph& graph);

}  // namespace adjit::sched
