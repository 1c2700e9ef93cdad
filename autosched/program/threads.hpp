// autosched/program/threads.hpp -- the threads of a block: how many a nest has, who runs which nest
// of a kernel, and which thread loops are none.
#pragma once

#include <optional>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether a kernel's tasks are run by blocks of threads: one of its nests has a Thread loop.
bool is_block_kernel(const Kernel& kernel);

/// The product of the trips of a nest's Thread loops; 1: it has none, and thread 0 runs it.
int64_t threads_of(const Nest& nest);
/// Threads of a block of a block kernel: as many as the nest with the most, in whole warps.
int64_t block_threads(const Kernel& kernel);

/// Index of a nest's first Thread loop, or where it has none of its register tile: the threads of a
/// block go through the loops in front of it in step.
size_t first_thread_loop(const Nest& nest);

/// Who runs a nest: the threads of a block together, or one thread by itself, as every nest of a
/// kernel that is no block kernel.
enum class RunBy : uint8_t { Block, Thread };
/// For a walk from a kernel's root down: who runs the root, and who what is attached to a host at a
/// depth (not between two of its Thread loops).
RunBy root_run_by(const Kernel& kernel);
RunBy attached_run_by(RunBy host_by, const Nest& host, size_t depth);
/// Whether the depth lies behind a Thread loop of the host and before another one.
bool lies_between_threads(const Nest& host, size_t depth);

/// Whether the threads of a block add up results together: a Thread loop is over a reduction axis,
/// or one over an output axis lies inside a serial loop over a reduction axis, so that every thread
/// keeps accumulators while the block goes through that in step.
bool is_cooperative(const Stage& stage, const Nest& nest);

/// Whether several points of the axis on which a reduction runs on are combined at once: loops over
/// it go to threads, or are of the register tile.
bool runs_together(const Running& running, const Nest& nest);
/// Threads of a nest that do so: the trips of the loop over the axis; 1: there is none.
int64_t threads_together(const Running& running, const Nest& nest);
/// Points of the axis that these loops cover.
int64_t points_together(const Running& running, const Nest& nest);

/// Threads of a nest that differ in loops over the reduction alone: a group adds up together.
struct ThreadGroups {
  int64_t threads = 1;       // of a group
  int64_t count = 1;         // of groups
  bool side_by_side = true;  // a group's threads have numbers that follow each other
};
ThreadGroups groups_of(const Stage& stage, const Nest& nest);

/// Points of an axis that the Thread loops of a nest and what is inside them cover; 1: it has none.
int64_t points_of_threads(const Nest& nest, size_t axis);
/// Whether threads that add up together compute all points of their register tiles along an axis
/// that these do not divide, also those past its end, which have no result.
bool takes_whole_tiles(const Stage& stage, const Nest& nest, size_t axis);
/// Whether all that a nest reads along an axis is computed inside its loops, for whole tiles, so
/// that there is something to read for the points past the axis' end.
bool reads_buffers_of_tiles(const Program& program, const Nest& nest, size_t axis);

/// A nest whose Thread loops are not as program.hpp wants them, and why.
struct ThreadFault {
  size_t stage = 0;
  const char* what = nullptr;
};
/// The first one of a kernel. Loops cover their axes and kinds are in order, but for that.
std::optional<ThreadFault> fault_in_threads(const Program& program, const Kernel& kernel);

}  // namespace adjit::sched
