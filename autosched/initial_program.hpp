// autosched/initial_program.hpp -- the plainest legal program of a graph.
#pragma once

#include "autosched/program.hpp"

namespace adjit::sched {

/// One kernel per stage, serial loops in domain order, reads guarded (guard_reads.hpp), scatters,
/// scans and prefix reductions lowered (lower_scatters.hpp, lower_scans.hpp, lower_running.hpp).
/// Call stages raise ErrorCode::Compile saying that this version does not compile them (they are
/// printed, parsed and interpreted).
Program initial_program(const Graph& graph, int cores, int vector_bits);

}  // namespace adjit::sched
