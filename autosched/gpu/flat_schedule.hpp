// autosched/gpu/flat_schedule.hpp -- the plainest schedule that uses all of a GPU.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A kernel for each stage, all of whose output loops are parallel where they may be: a thread
/// computes a point of the result, its neighbours the next ones in memory. Reductions are serial.
/// The steps of scans likewise. Deterministic; always legal.
Program flat_schedule(const Graph& graph, const GpuMachine& machine);

}  // namespace adjit::sched
