// tests/allocation_count.hpp -- how often a thread has allocated.
#pragma once

#include <cstddef>

#include "tests/rooms.hpp"

namespace adjit::testing {

/// Calls of operator new in this thread since it began; always 0 under a sanitizer, whose operator
/// new stays.
size_t allocation_count();

}  // namespace adjit::testing
