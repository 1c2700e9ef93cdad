// jit/cache/store.hpp -- entries kept in a directory across processes.
//
// A store is an optimisation and behaves like one: whatever is wrong with the directory, the disk
// or an entry, `load` says "miss" with a reason and `save` does nothing; the user hears of it once,
// through the log.
//
//   Store store(options_from_environment(log));
//   Lookup found = store.load(key);
//   if (!found.entry) { ...make it...; store.save(std::move(entry)); }
//
// An entry with a fault in its content (damaged, foreign, another version, not ours, a link,
// writable by others, other components) is deleted. One that could not be read just now is left
// alone.
//
// Entries are written by one thread in the background, so a load right after a save may still miss:
// that is the memory tier's to serve. The loser of a race between processes overwrites the winner's
// equal entry; no file is ever locked. Some errors end writing for the life of this store
// (store_writer.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jit/cache/background.hpp"
#include "jit/cache/entry/entry.hpp"
#include "jit/cache/options.hpp"
#include "jit/cache/store_state.hpp"
#include "jit/cache/store_writer.hpp"

namespace adjit::cache {

/// An entry, or the reason why there is none.
struct Lookup {
  std::optional<Entry> entry;
  std::string miss_reason;
};

/// Counts since the store was made.
struct StoreCounts {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t published = 0;
  uint64_t deleted = 0;  // for a fault in their content
  uint64_t evicted = 0;
};

/// Any thread may call anything; the destructor writes what is queued and must not race with calls.
/// Reads no environment. Survives fork(): what the parent had queued is written by the parent
/// alone.
class Store {
 public:
  explicit Store(StoreOptions options);  // touches no file
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Looks in the directory, then in the shared one. Blocks on reading one file. Throws only
  /// std::bad_alloc.
  Lookup load(const Key& key);

  /// Why `key` misses, in terms of the most similar entry: which component differs. Reads up to 256
  /// entries, so it is for people who ask. Throws only std::bad_alloc.
  std::string explain(const Key& key);

  /// Queues the entry for publication under its key. Throws only std::bad_alloc.
  void save(Entry entry);

  /// Deletes the entry of `key`, which its reader found useless; `reason` goes to the log. Blocks.
  void discard(const Key& key, const std::string& reason);

  /// Returns when everything saved before the call has been published or given up.
  void flush();

  /// Whether saving can still have an effect.
  bool writable() const;

  StoreCounts counts() const;
  const StoreOptions& options() const { return state_.options; }

 private:
  StoreState state_;
  StoreWriter writer_;     // of the background's jobs
  Background background_;  // last: its jobs use everything above
};

}  // namespace adjit::cache
