// autosched/gpu/invert_scatters.hpp -- scatters to where data says, by as many threads as there are
// results.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Where the points that write apart are too few threads, and those that may meet are many: sorts
/// the points by what they write (`invert`), or, where they write few rows, gives parts of them
/// arrays of their own (`privatize_scatter`). Nothing is added in an order that depends on threads.
Program invert_scatters(Program program, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program invert_scatters(Program program, const GpuMachine& machine) {
  Choices own;
  return invert_scatters(std::move(program), machine, own);
}

}  // namespace adjit::sched
