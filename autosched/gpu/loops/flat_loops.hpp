// autosched/gpu/loops/flat_loops.hpp -- the loops of a kernel whose threads compute a few results
// each.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Elements that a thread computes side by side along an axis.
struct Lanes {
  size_t axis = 0;
  int64_t count = 1;
};
/// Along the last axis of the results, or of the rows that segments of a scatter write, as many as
/// one access of 16 bytes moves: 2, 4 or 8. 1 where the axis is no multiple of them, where what is
/// read does not lie so, or where the threads would be too few to hide the memory's latency.
Lanes thread_lanes(const Program& program, size_t stage, const GpuMachine& machine);

/// Gives the plain nest of a kernel's root the loops of the flat mapping: all that may run at once
/// is parallel, a task a thread, the results' last axis innermost, so that the threads of a warp
/// work on neighbours; what is left, reductions and the rest of a scatter, is serial.
Program flat_loops(Program program, size_t stage, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program flat_loops(Program program, size_t stage, const GpuMachine& machine) {
  Choices own;
  return flat_loops(std::move(program), stage, machine, own);
}

}  // namespace adjit::sched
