// autosched/gpu/loops/block_loops.hpp -- kernels whose tasks are run by blocks of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Points that a block had better have: a vector of 4 for each of 256 threads (a guess: no GPU has
/// run these kernels yet).
inline constexpr int64_t kBlockPoints = 1024;

/// Threads that a block has, at most: two such blocks leave a thread 64 registers (a guess, too).
inline constexpr int64_t kMostThreads = 512;

/// Whether blocks of so few points would be full of idle threads, and too many to be there at once.
bool leaves_threads_idle(double points, double blocks, const GpuMachine& machine);

/// What a block takes of a reduction that is a kernel by itself, where threads share it.
struct BlockShare {
  enum class Kind : uint8_t {
    None,     // the flat mapping is as good: a thread adds up a result by itself
    Rows,     // memory is contiguous along the reduction: a block adds up some rows of it
    Columns,  // along the results: neighbouring threads take neighbouring results
  };
  Kind kind = Kind::None;
  int64_t results = 1;  // of the last axis of results, of a block
  double blocks = 1;    // of the kernel
};
BlockShare block_share(const LoweredGraph& graph, const Stage& stage, const GpuMachine& machine);

/// The loops of a kernel that has nests attached to it, all at one depth (fuse_rows.hpp), or whose
/// block_share() is of a kind: a block takes an iteration of the first loops, in parallel, and has
/// so many threads at most. The fewer there are, the less they exchange through the memory that
/// they share.
Program block_loops(Program program, size_t root, const GpuMachine& machine,
                    int64_t most = kMostThreads);

}  // namespace adjit::sched
