// jit/engine/plan/dependencies.hpp -- which groups of kernels wait for which, from the memory they
// use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::engine {

/// Accesses in the order of a sequential run. A group waits for whoever wrote last what it reads or
/// writes, and for all who have read since then what it writes: that holds for places that are used
/// again for other tensors, too. Time grows with the places that an access covers.
class Dependencies {
 public:
  /// Group `group` (not smaller than any before) uses [begin, end) of one address space.
  void add(size_t group, int64_t begin, int64_t end, bool writes);
  /// For whom the group added last waits, ascending, each once; what others that it waits for wait
  /// for themselves is left out where that is seen at once.
  std::vector<size_t> waits_of(size_t group) const;

 private:
  struct Place {
    int64_t end = 0;
    std::vector<size_t> writers;  // at most one
    std::vector<size_t> readers;  // since then
  };
  // Begins a place there, if one holds it.
  void split(int64_t at);

  std::map<int64_t, Place> places_;  // by where they begin; apart from each other
  std::vector<std::vector<size_t>> waits_;
};

}  // namespace adjit::engine
