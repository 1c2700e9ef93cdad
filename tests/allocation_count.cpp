// tests/allocation_count.cpp -- replaces operator new for the test programs that have it. A file of
// its own, because the compiler warns of malloc and delete where it can see through both.
#include "tests/allocation_count.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local size_t count = 0;
}  // namespace

size_t adjit::testing::allocation_count() { return count; }

#if !ADJIT_SANITIZED
void* operator new(size_t size) {
  ++count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
