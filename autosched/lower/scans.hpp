// autosched/lower/scans.hpp -- scans in the form that programs run.
//
// A lowered scan
//  - makes at least one step (scans of none have become copies);
//  - starts from carries that a stage or a constant holds: contiguous, whatever the caller's
//  layout;
//  - has a body whose outputs are results of stages of their own.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Every scan of the graph lowered (not those inside bodies: they are when their program is made).
Graph lower_scans(const Graph& graph);

/// The graph in which every output is the result of a stage of its own: inputs, constants and
/// repeated outputs are copied.
Graph separate_outputs(Graph graph);

}  // namespace adjit::sched
