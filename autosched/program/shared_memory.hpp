// autosched/program/shared_memory.hpp -- the memory that a block's threads share: for what they
// compute together, and for what they exchange when they reduce together.
#pragma once

#include <span>
#include <vector>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {

/// Of every array in it: that of the widest access.
inline constexpr int64_t kSharedAlignment = kAccessBits / 8;

/// So many bytes, up to the next multiple of it.
int64_t shared_size(int64_t bytes);
/// The extents by which a local array of these spans lies there: its innermost rows have a gap
/// behind them where they would all begin in the same bank, so that threads that read or write down
/// a column find other ones.
std::vector<int64_t> shared_extents(std::span<const int64_t> spans, int64_t element_bytes);

/// How the partial results of a group of threads come together, in an order that the program fixes.
enum class Exchange : uint8_t {
  None,      // there is nothing to combine
  Shuffles,  // a part of a warp, as many threads as a power of two: by shuffles, in a tree
  Warps,     // whole warps: each by shuffles, then their results, which go through shared memory
  All,       // another one, whose threads may stand apart: all go through it
};
Exchange exchange_of(const ThreadGroups& groups);
/// Elements of each partial result that go through shared memory, in a block of so many threads.
int64_t exchanged_elements(const ThreadGroups& groups, int64_t block_threads);

/// Bytes that a block of the kernel shares, at most.
int64_t shared_bytes(const Program& program, const Kernel& kernel);

}  // namespace adjit::sched
