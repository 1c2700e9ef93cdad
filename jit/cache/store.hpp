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
// equal entry; no file is ever locked. ENOSPC, EDQUOT, EROFS, EACCES, EPERM and EFBIG end writing
// for the life of this store.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "jit/cache/background.hpp"
#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/inventory.hpp"
#include "jit/cache/contents/published.hpp"
#include "jit/cache/entry/entry.hpp"
#include "jit/cache/options.hpp"

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
  const StoreOptions& options() const { return options_; }

 private:
  struct Counters {
    std::atomic<uint64_t> hits, misses, published, deleted, evicted;
  };

  Directory open(Sharing sharing);
  Lookup load_from(Sharing sharing, const Signature& id, const Key& key);
  Lookup reject(Sharing sharing, int directory, const Signature& id, const EntryRead& read);
  void remove(int directory, const Signature& id, const std::string& reason);
  void warn_once(std::atomic<bool>& warned, const std::string& message);

  // On the writer thread.
  void publish(const Entry& entry);
  void record_use(const Signature& id);
  Directory open_for_writing();
  void give_up_on(int error, const std::string& what);
  void account(int directory, uint64_t bytes);

  const StoreOptions options_;
  FileSystem& files_;
  Counters counters_{};
  std::atomic<bool> latched_{false};  // no more writing
  std::atomic<bool> warned_of_directory_{false};
  std::atomic<bool> warned_of_shared_{false};

  // The writer thread's own.
  Published published_;        // by all writers
  uint64_t stored_bytes_ = 0;  // of all files, at least: as counted, and published since
  uint64_t journal_limit_;     // rewrite the journal of uses when it exceeds this many bytes

  Background background_;  // last: its jobs use everything above
};

}  // namespace adjit::cache
