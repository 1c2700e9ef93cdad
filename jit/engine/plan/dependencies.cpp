// jit/engine/plan/dependencies.cpp -- places in memory with their last writer and the readers
// since.
#include "jit/engine/plan/dependencies.hpp"

#include <algorithm>
#include <iterator>

namespace adjit::engine {

void Dependencies::split(int64_t at) {
  auto next = places_.upper_bound(at);
  if (next == places_.begin()) return;
  const auto holds = std::prev(next);
  if (holds->first == at || holds->second.end <= at) return;
  Place rest = holds->second;
  holds->second.end = at;
  places_.emplace_hint(next, at, std::move(rest));
}

void Dependencies::add(size_t group, int64_t begin, int64_t end, bool writes) {
  if (waits_.size() <= group) waits_.resize(group + 1);
  if (begin >= end) return;
  split(begin);
  split(end);
  std::vector<size_t>& waits = waits_[group];
  const auto wait_for = [&](const std::vector<size_t>& groups) {
    for (size_t other : groups)
      if (other != group) waits.push_back(other);
  };
  auto place = places_.lower_bound(begin);
  int64_t at = begin;
  while (at < end) {
    if (place == places_.end() || place->first > at) {  // nobody was here before
      const int64_t until = place == places_.end() ? end : std::min(end, place->first);
      place = places_.emplace_hint(place, at, Place{until, {}, {}});
    }
    Place& here = place->second;
    wait_for(here.writers);
    if (writes) {
      wait_for(here.readers);
      here.writers.assign(1, group);
      here.readers.clear();
    } else if (here.readers.empty() || here.readers.back() != group) {
      here.readers.push_back(group);
    }
    at = here.end;
    ++place;
  }
  std::ranges::sort(waits);
  waits.erase(std::ranges::unique(waits).begin(), waits.end());
}

std::vector<size_t> Dependencies::waits_of(size_t group) const {
  if (group >= waits_.size()) return {};
  const std::vector<size_t>& all = waits_[group];
  std::vector<size_t> waits;
  for (size_t one : all) {
    const bool implied = std::ranges::any_of(all, [&](size_t later) {
      return later > one && std::ranges::binary_search(waits_[later], one);
    });
    if (!implied) waits.push_back(one);
  }
  return waits;
}

}  // namespace adjit::engine
