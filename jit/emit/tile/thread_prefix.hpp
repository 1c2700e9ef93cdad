// jit/emit/tile/thread_prefix.hpp -- what the threads of a block that stand before each other have
// accumulated along an axis on which a reduction runs on.
//
// Threads whose numbers follow each other are a group: they have partial results of points that
// follow each other. Each gets what those before it have together, in an order that the program
// fixes: within a warp by shuffles, from warp to warp through the block's memory.
#pragma once

#include <cstdint>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// What the threads before a thread have together, and all of its group.
struct ThreadPrefixes {
  Partial before, all;
};

/// `own`: scalars. Groups have `threads` threads, a power of two. To be emitted where all threads
/// of the warp, and of the block where a group has several, come to it. The nest must outlive it.
ThreadPrefixes prefixes_of(NestContext& nest, const Partial& own, int64_t threads);

}  // namespace adjit::emit
