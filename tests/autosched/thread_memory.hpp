// tests/autosched/thread_memory.hpp -- who of a block's threads wrote and read which element since
// the last barrier: races.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/rooms.hpp"

namespace adjit::testing {

/// One block's view of all tensors. A race, or a read of what another thread has for itself, is a
/// std::logic_error that names the tensor, the element and both threads.
class ThreadMemory {
 public:
  /// What was written before is seen by all.
  void barrier() { ++phase_; }

  /// `own`: every thread has a tensor of its own of that name.
  void write(uint32_t tensor, const std::string& name, int64_t element, int64_t thread, bool own) {
    Element& e = elements_[{tensor, element}];
    if (!own) {
      if (e.write_phase == phase_ && e.writer != thread)
        fail(name, element, "is written by threads ", e.writer, thread);
      if (e.read_phase == phase_ && e.reader != thread)
        fail(name, element, "is read and, without a barrier between, written by threads ", e.reader,
             thread);
    }
    e.write_phase = phase_;
    e.writer = thread;
  }

  void read(uint32_t tensor, const std::string& name, int64_t element, int64_t thread, bool own) {
    Element& e = elements_[{tensor, element}];
    if (own && e.write_phase != 0 && e.writer != thread)
      fail(name, element, "is one thread's own, and read by another: threads ", e.writer, thread);
    if (!own && e.write_phase == phase_ && e.writer != thread)
      fail(name, element, "is written and, without a barrier between, read by threads ", e.writer,
           thread);
    e.reader = e.read_phase == phase_ && e.reader != thread ? kSeveral : thread;
    e.read_phase = phase_;
  }

 private:
  static constexpr int64_t kSeveral = -1;

  struct Element {
    uint64_t write_phase = 0, read_phase = 0;  // 0: never
    int64_t writer = 0, reader = 0;
  };
  using Place = std::pair<uint32_t, int64_t>;
  struct Hash {
    size_t operator()(const Place& place) const {
      return static_cast<size_t>(place.second) * 0x9e3779b97f4a7c15 + place.first;
    }
  };

  [[noreturn]] static void fail(const std::string& name, int64_t element, const char* what,
                                int64_t first, int64_t second) {
    const auto shown = [](int64_t thread) {
      return thread == kSeveral ? std::string("several") : std::to_string(thread);
    };
    throw std::logic_error("element " + std::to_string(element) + " of '" + name + "' " + what +
                           shown(first) + " and " + shown(second));
  }

  std::unordered_map<Place, Element, Hash> elements_;
  uint64_t phase_ = 1;
};

}  // namespace adjit::testing
