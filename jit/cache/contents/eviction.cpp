// jit/cache/contents/eviction.cpp -- choosing and removing.
#include "jit/cache/contents/eviction.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>

#include "jit/cache/files/directory.hpp"
#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

namespace {

void remove_file(FileSystem& files, int directory, const std::string& name, uint64_t size,
                 Removed& removed) {
  const int error = free_name(files, directory, name.c_str());
  if (error == 0) {
    ++removed.files;
    removed.bytes += size;
  } else if (error != ENOENT && removed.error == 0) {
    removed.error = error;
  }
}

}  // namespace

std::vector<EntryFile> choose_victims(std::span<const EntryFile> entries,
                                      const Retention& retention) {
  std::vector<EntryFile> oldest_first(entries.begin(), entries.end());
  std::ranges::sort(oldest_first, {}, [](const EntryFile& entry) {
    return std::tuple(entry.last_used_unix_ms, entry.id);  // by id at a tie: every run agrees
  });
  uint64_t kept = 0;
  for (const EntryFile& entry : oldest_first) kept += entry.size;

  std::vector<EntryFile> victims;
  for (const EntryFile& entry : oldest_first) {
    const bool too_old =
        retention.used_since_unix_ms && entry.last_used_unix_ms < *retention.used_since_unix_ms;
    const bool too_much = retention.max_bytes && kept > *retention.max_bytes;
    if (!too_old && !too_much) break;
    kept -= entry.size;
    victims.push_back(entry);
  }
  return victims;
}

Removed remove_entries(FileSystem& files, int directory, std::span<const EntryFile> victims) {
  Removed removed;
  for (const EntryFile& victim : victims)
    remove_file(files, directory, entry_name(victim.id), victim.size, removed);
  return removed;
}

Removed sweep_temporaries(FileSystem& files, int directory, const Inventory& inventory,
                          int64_t written_before_unix_ms) {
  Removed removed;
  for (const TemporaryFile& temporary : inventory.temporaries)
    if (temporary.written_unix_ms < written_before_unix_ms)
      remove_file(files, directory, temporary.name, temporary.size, removed);
  return removed;
}

}  // namespace adjit::cache
