// autosched/lower/prefix.hpp -- prefix reductions in linear time.
//
// The lowered stage has no reduction axis: its body is that of the point i itself, and
// `LoweredGraph::running` says along which axis results run on. The order of the operations is that
// of the definition.
#pragma once

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Every prefix reduction (runtime/diff/conditions/prefix_reduction.hpp) as a running stage.
LoweredGraph lower_running(LoweredGraph graph);

}  // namespace adjit::sched
