// tests/jit/cache/allocation_count.hpp -- how often a thread has allocated.
#pragma once

#include <cstddef>

namespace adjit::cache::test {

/// Calls of operator new in this thread since it began; always 0 under a sanitizer, whose operator
/// new stays.
size_t allocation_count();

}  // namespace adjit::cache::test
