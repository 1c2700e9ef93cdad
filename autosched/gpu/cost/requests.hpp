// autosched/gpu/cost/requests.hpp -- what the threads of a kernel ask of a GPU.
//
// A load or store of a warp is a request. What it asks for lies in lines of 128 bytes, one of which
// a multiprocessor's load-store unit serves a cycle, and in sectors of 32, of which L2 gives those
// that the multiprocessor's own cache (L1) does not have. L1 has what was asked for shortly before:
// in the inner loops of a block whose lines all fit into it. L2 has, in the same way, what the
// blocks that run at once ask for in theirs; the rest comes from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autosched/analysis/footprint.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Of one run of a kernel, all its threads together.
struct Requests {
  double blocks = 1;
  double threads = 1;
  double resident = 1;       // threads that a multiprocessor has at once
  double instructions = 0;   // of threads
  double access_cycles = 0;  // of the load-store units, one after the other
  double sectors = 0;        // from and to L2
  double bytes = 0;          // from and to memory, where L2 does not hold the program
  double waits = 0;          // of a thread, one after the other: for memory counts as one
};

/// Registers of a thread that runs a nest, roughly: its accumulators, what it reads for them, and
/// the rest.
double registers_of(const Program& program, const PlacedNest& placed);
inline constexpr double kMostRegisters = 255, kRestOfRegisters = 24;
/// Registers that a thread may have where a multiprocessor is to have so many blocks of so many
/// threads: a multiple of 8, for whole warps; at most kMostRegisters, which an instruction can
/// name.
double registers_for(const GpuMachine& machine, int64_t blocks, int64_t threads);

/// Linear in the kernel's nests for those that are small, else quadratic.
Requests requests_of(const Program& program, size_t kernel, const GpuMachine& machine);

}  // namespace adjit::sched
