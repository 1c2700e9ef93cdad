// autosched/lower/initial_program.hpp -- the plainest legal program of a graph.
#pragma once

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// One kernel per stage, serial loops in domain order, reads guarded (guard_reads.hpp), scatters,
/// scans and prefix reductions lowered (scatters.hpp, scans.hpp, prefix.hpp).
/// Call stages raise ErrorCode::Compile saying that this version does not compile them (they are
/// printed, parsed and interpreted).
Program initial_program(const Graph& graph, const Target& target);

}  // namespace adjit::sched
