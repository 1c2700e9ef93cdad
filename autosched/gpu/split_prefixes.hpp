// autosched/gpu/split_prefixes.hpp -- long prefix reductions, by more threads.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Splits reductions that run on along a long axis (a kernel of its own, with the combiners that
/// split_running takes) where the other axes leave most of the GPU's threads idle: a block, or
/// where memory is not contiguous along the axis a thread, runs on along a chunk. What comes before
/// the chunks runs on itself, and is split likewise.
Program split_long_prefixes(Program program, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program split_long_prefixes(Program program, const GpuMachine& machine) {
  Choices own;
  return split_long_prefixes(std::move(program), machine, own);
}

}  // namespace adjit::sched
