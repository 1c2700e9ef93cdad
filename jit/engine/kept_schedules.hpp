// jit/engine/kept_schedules.hpp -- the schedules that later requests get without asking for one: in
// this process, and in the cache where that can be written.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/entry/provenance.hpp"
#include "jit/cache/store.hpp"

namespace adjit::engine {

/// By kept_schedule_key() (keys.hpp). Any thread may call anything. Outlived by its store.
class KeptSchedules {
 public:
  explicit KeptSchedules(cache::Store& store) : store_(store) {}

  /// Its moves as JSON; "": none is kept.
  std::string find(const cache::Key& key) const;

  /// Keeps moves, or with "" none.
  void keep(const cache::Key& key, const std::string& moves, cache::Provenance provenance);

 private:
  cache::Store& store_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> moves_;  // of this process, by the id of their key; "": none
};

}  // namespace adjit::engine
