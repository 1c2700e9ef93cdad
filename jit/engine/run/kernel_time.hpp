// jit/engine/run/kernel_time.hpp -- how long a kernel took.
#pragma once

#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::engine {

/// How long a kernel took within one run: in all its calls (a scan's step makes several).
struct KernelTime {
  int64_t calls = 0;
  double seconds = 0;
};

}  // namespace adjit::engine
