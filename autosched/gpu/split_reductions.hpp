// autosched/gpu/split_reductions.hpp -- long reductions to few results, by more threads.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Lets several threads take parts of the reductions whose results alone would not keep the GPU
/// busy, each part of a few dozen terms at least; what combines the parts, too, until it is short.
/// For combiners with partial results.
Program split_long_reductions(Program program, const GpuMachine& machine);

}  // namespace adjit::sched
