// jit/cache/store_writer.hpp -- what a store writes: entries, their uses, and no more than its
// limit.
//
// ENOSPC, EDQUOT, EROFS, EACCES, EPERM and EFBIG end writing for the life of the store.
#pragma once

#include <cstdint>

#include "jit/cache/contents/published.hpp"
#include "jit/cache/entry/entry.hpp"
#include "jit/cache/store_state.hpp"

namespace adjit::cache {

/// One thread at a time: used by the jobs of the store's background alone. Blocks on the disk.
class StoreWriter {
 public:
  explicit StoreWriter(StoreState& store) : store_(store) {}

  /// Writes the entry under its key, and evicts others where there are too many.
  void publish(const Entry& entry);

  /// Notes that an entry was found.
  void record_use(const Signature& id);

 private:
  void account(int directory, uint64_t bytes);

  StoreState& store_;
  Published published_;        // by all writers
  uint64_t stored_bytes_ = 0;  // of all files, at least: as counted, and published since
  uint64_t journal_limit_ = kSmallestJournalLimit;  // bytes: beyond them the uses are rewritten

  static constexpr uint64_t kSmallestJournalLimit = uint64_t{1} << 20;
};

}  // namespace adjit::cache
