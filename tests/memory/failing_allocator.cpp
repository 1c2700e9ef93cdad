// tests/memory/failing_allocator.cpp -- malloc and its relatives, refusing on demand.
#include "tests/memory/failing_allocator.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's own, under the names that it keeps for whoever
// replaces malloc.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

using adjit_test::Failure;

std::atomic<bool> armed{false};
Failure failure = Failure::Once;
std::atomic<int64_t> made{0}, live{0}, most{0}, limit{0};

bool refused(size_t size) {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const int64_t k = made.fetch_add(1, std::memory_order_relaxed);
  const bool yes = failure == Failure::Once       ? k == limit
                   : failure == Failure::FromThen ? k >= limit
                                                  : live + static_cast<int64_t>(size) > limit;
  if (yes) errno = ENOMEM;
  return yes;
}

void* counted(void* memory) {
  if (armed.load(std::memory_order_relaxed) && memory) {
    const int64_t now = live += static_cast<int64_t>(malloc_usable_size(memory));
    if (now > most) most = now;
  }
  return memory;
}

void uncounted(void* memory) {
  if (armed.load(std::memory_order_relaxed) && memory)
    live -= static_cast<int64_t>(malloc_usable_size(memory));
}

}  // namespace

extern "C" {
void* malloc(size_t size) { return refused(size) ? nullptr : counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) {
  return refused(n * size) ? nullptr : counted(__libc_calloc(n, size));
}
void* realloc(void* old, size_t size) {
  if (refused(size)) return nullptr;
  uncounted(old);
  return counted(__libc_realloc(old, size));
}
void* memalign(size_t to, size_t size) {
  return refused(size) ? nullptr : counted(__libc_memalign(to, size));
}
void* aligned_alloc(size_t to, size_t size) { return memalign(to, size); }
int posix_memalign(void** memory, size_t to, size_t size) {
  void* const found = memalign(to, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}
void free(void* memory) {
  uncounted(memory);
  __libc_free(memory);
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (refused(size)) return MAP_FAILED;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}
}

namespace adjit_test {

FailingAllocations::FailingAllocations(Failure kind, int64_t n) {
  made = live = most = 0;
  limit = n;
  failure = kind;
  armed = true;
}
FailingAllocations::~FailingAllocations() { armed = false; }
int64_t FailingAllocations::count() const { return made; }
int64_t FailingAllocations::most_bytes() const { return most; }

}  // namespace adjit_test
