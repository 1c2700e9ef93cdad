// autosched/gpu/split_reductions.hpp -- long reductions to few results, by more threads.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Lets several blocks, or threads, take parts of the reductions that are kernels by themselves and
/// whose results alone would not keep the GPU busy; what combines the parts, too, until it is
/// short. For combiners with partial results.
Program split_long_reductions(Program program, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program split_long_reductions(Program program, const GpuMachine& machine) {
  Choices own;
  return split_long_reductions(std::move(program), machine, own);
}

}  // namespace adjit::sched
