// autosched/gpu/loops/running_loops.hpp -- the loops of a reduction that runs on along an axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// How the threads of a block run on along an axis along which memory is contiguous.
struct RunningThreads {
  int64_t lanes = 1;    // of a thread, that follow each other
  int64_t threads = 1;  // along the axis
  int64_t rows = 1;     // of a block
};
/// Of a stage that runs on; nullopt where memory is not contiguous along the axis, its combiner has
/// no partial results, or there are so few points that a thread is done with them soon.
std::optional<RunningThreads> running_threads_of(const LoweredGraph& graph, const Stage& stage);

/// The loops of a kernel that is such a stage: a block takes so many rows.
Program running_loops(Program program, size_t root, const RunningThreads& threads);

}  // namespace adjit::sched
