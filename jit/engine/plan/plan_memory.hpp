// jit/engine/plan/plan_memory.hpp -- memory whose contents are names of values, for
// verify_plan.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "runtime/process/rooms.hpp"

namespace adjit::engine {

/// A value that some kernel left, or the caller: every write makes a new one.
using Version = uint64_t;

/// A range of bytes of one address space: the workspace, a thread's slot, or an argument.
struct PlanRange {
  size_t space = 0;
  int64_t begin = 0, end = 0;
  bool meets(const PlanRange& other) const {
    return space == other.space && std::max(begin, other.begin) < std::min(end, other.end);
  }
};

class PlanMemory {
 public:
  void write(const PlanRange& range, Version version) {
    if (range.begin >= range.end) return;
    std::map<int64_t, Held>& held = spaces_[range.space];
    split(held, range.begin);
    split(held, range.end);
    held.erase(held.lower_bound(range.begin), held.lower_bound(range.end));
    held.emplace(range.begin, Held{range.end, version});
  }

  /// The first other version in the range, 0 for bytes that nobody wrote; nullopt: all is
  /// `version`.
  std::optional<Version> other_than(const PlanRange& range, Version version) const {
    if (range.begin >= range.end) return std::nullopt;
    const auto space = spaces_.find(range.space);
    if (space == spaces_.end()) return Version{0};
    int64_t at = range.begin;
    auto next = space->second.upper_bound(at);
    if (next != space->second.begin()) --next;
    for (; at < range.end && next != space->second.end(); ++next) {
      if (next->second.end <= at) continue;
      if (next->first > at) return Version{0};
      if (next->second.version != version) return next->second.version;
      at = next->second.end;
    }
    return at < range.end ? std::optional(Version{0}) : std::nullopt;
  }

  void forget(size_t space) { spaces_.erase(space); }

 private:
  struct Held {
    int64_t end = 0;
    Version version = 0;
  };
  static void split(std::map<int64_t, Held>& held, int64_t at) {
    auto next = held.upper_bound(at);
    if (next == held.begin()) return;
    --next;
    if (next->first == at || next->second.end <= at) return;
    const Held rest = next->second;
    next->second.end = at;
    held.emplace(at, rest);
  }

  std::map<size_t, std::map<int64_t, Held>> spaces_;  // ranges by where they begin, apart
};

}  // namespace adjit::engine
