// tests/memory/failing_allocator.hpp -- malloc, its relatives and mmap of this program and all that
// it links, which fail when they are told to.
#pragma once

#include <cstdint>

namespace adjit_test {

/// Which allocations of the process fail.
enum class Failure : int8_t {
  Once,      // the n-th, from 0 on
  FromThen,  // the n-th and all later ones
  Beyond,    // those with which more than n bytes would be held, of what was allocated since
};

/// They do while one lives. One at a time.
class FailingAllocations {
 public:
  FailingAllocations(Failure kind, int64_t n);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  /// Allocations so far, failed ones too.
  int64_t count() const;
  /// The most bytes that were held at a time.
  int64_t most_bytes() const;
};

}  // namespace adjit_test
