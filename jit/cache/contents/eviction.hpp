// jit/cache/contents/eviction.hpp -- which entries go when there are too many: the least recently
// used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/cache/contents/inventory.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

/// What may stay.
struct Retention {
  std::optional<uint64_t> max_bytes;          // of all entries together
  std::optional<int64_t> used_since_unix_ms;  // entries last used before this go
};

/// The entries that must go, least recently used first. A pure function.
std::vector<EntryFile> choose_victims(std::span<const EntryFile> entries,
                                      const Retention& retention);

struct Removed {
  uint64_t files = 0;
  uint64_t bytes = 0;
  int error = 0;  // the first errno, other than of a file that was gone already
};

/// Unlinks entries. A reader that has one open keeps what it reads.
Removed remove_entries(FileSystem& files, int directory, std::span<const EntryFile> victims);

/// A temporary file this old belongs to nobody.
inline constexpr int64_t kOrphanAgeMs = 60 * 60 * 1000;
/// One this old is taken where the cache is too large: its writer is dead, or stuck so long that
/// its entry may as well be lost.
inline constexpr int64_t kStuckAgeMs = 60 * 1000;

/// Unlinks the temporary files that were written before then. A writer that lives loses its entry
/// and nothing else.
Removed sweep_temporaries(FileSystem& files, int directory, const Inventory& inventory,
                          int64_t written_before_unix_ms);

}  // namespace adjit::cache
