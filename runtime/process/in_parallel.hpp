// runtime/process/in_parallel.hpp -- independent steps of a compilation on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// run(0, w) ... run(count - 1, w) on at most so many threads, the calling one among them; `w` is
/// the number of the thread that a step runs on, 0 the caller's. Fewer where the system gives none.
/// Returns when all have ended, with the error of the first step that had one. A call that is
/// cancelled (cancellation.hpp) begins no more steps.
void in_parallel(size_t count, size_t threads,
                 const std::function<void(size_t step, size_t thread)>& run);

}  // namespace adjit::process
