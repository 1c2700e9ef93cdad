// jit/engine/kept_schedules.cpp -- what this process keeps comes before what the disk has.
#include "jit/engine/kept_schedules.hpp"

#include <utility>

#include "runtime/process/fork.hpp"

namespace adjit::engine {

std::string KeptSchedules::find(const cache::Key& key) const {
  const std::string id = to_hex(signature_of(key));
  {
    const BriefLock lock(mutex_);
    if (const auto found = moves_.find(id); found != moves_.end()) return found->second;
  }
  const cache::Lookup lookup = store_.load(key);
  const std::string* moves = lookup.entry ? lookup.entry->section("schedule") : nullptr;
  return moves ? *moves : "";
}

void KeptSchedules::keep(const cache::Key& key, const std::string& moves,
                         cache::Provenance provenance) {
  {
    const BriefLock lock(mutex_);
    moves_[to_hex(signature_of(key))] = moves;
  }
  if (moves.empty()) return store_.discard(key, "its schedule was tuned");
  if (!store_.writable()) return;
  cache::Entry entry;
  entry.key = key;
  entry.provenance = std::move(provenance);
  entry.add("schedule", moves);
  store_.save(std::move(entry));
}

}  // namespace adjit::engine
