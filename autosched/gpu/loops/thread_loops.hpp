// autosched/gpu/loops/thread_loops.hpp -- the loops of a nest that the threads of a block run
// together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Along which axis of a stage its memory is contiguous: that of neighbouring threads. Counted are
/// elements of the tensors read and written; of equals the innermost axis. nullopt: along none.
std::optional<size_t> contiguous_axis(const LoweredGraph& graph, const Stage& stage);

/// Whether every operand of a reduction is read so often that arithmetic is what takes time.
bool is_contraction(const LoweredGraph& graph, const Stage& stage);

/// Whether threads of a block may add up results of the stage together.
bool may_cooperate(const LoweredGraph& graph, const Stage& stage);

/// Gives the plain serial loops of a nest, from loop `first` on, to up to `threads` threads:
/// neighbours, and vectors of up to 16 bytes, along the contiguous axis, the rest along results,
/// then along the reduction where threads may share it; along each a power of two. Along the
/// contiguous one there are `neighbours` threads, which need not be one, where these divide it.
/// Serial loops over results stand outside, those over the reduction inside or, where threads share
/// it, directly outside.
Program thread_loops(Program program, size_t stage, size_t first, int64_t threads,
                     int64_t neighbours = 1);

}  // namespace adjit::sched
