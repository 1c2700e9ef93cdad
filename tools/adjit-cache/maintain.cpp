// tools/adjit-cache/maintain.cpp -- verify, prune, clear.
#include <cerrno>
#include <cstdint>

#include "jit/cache/byte_size.hpp"
#include "jit/cache/contents/eviction.hpp"
#include "jit/cache/contents/uses.hpp"
#include "jit/cache/files/free_name.hpp"
#include "tools/adjit-cache/commands.hpp"
#include "tools/adjit-cache/text.hpp"

namespace adjit::cache_tool {

namespace {

using cache::format_byte_size;

void check(const cache::Removed& removed) {
  if (removed.error != 0)
    throw Failure(ExitCode::Io,
                  "not everything could be removed: " + cache::describe_errno(removed.error));
}

std::string counted(uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string entries_and_bytes(uint64_t count, uint64_t bytes) {
  return counted(count, "entry", "entries") + ", " + format_byte_size(bytes);
}

}  // namespace

ExitCode verify(const Shelf& shelf, std::ostream& out) {
  uint64_t damaged = 0;
  for (const cache::EntryFile& file : shelf.inventory.entries) {
    const cache::EntryRead read = look_at(shelf, file.id);
    // One that has gone since the directory was listed was evicted, not damaged.
    if (read.fault == cache::Fault::None || read.fault == cache::Fault::Absent) continue;
    ++damaged;
    out << cache::to_hex(file.id) << "  " << printable(read.reason) << '\n';
  }
  out << counted(shelf.inventory.entries.size(), "entry", "entries") << ", " << damaged
      << " damaged\n";
  return damaged == 0 ? ExitCode::Ok : ExitCode::Findings;
}

ExitCode prune(const Shelf& shelf, const PruneLimits& limits, bool dry_run, std::ostream& out) {
  const int64_t now = cache::now_unix_ms();
  cache::Retention retention;
  retention.max_bytes = limits.max_bytes;
  if (limits.older_than_ms) retention.used_since_unix_ms = now - *limits.older_than_ms;
  const std::vector<cache::EntryFile> victims =
      cache::choose_victims(shelf.inventory.entries, retention);
  uint64_t bytes = 0;
  for (const cache::EntryFile& victim : victims) {
    out << cache::to_hex(victim.id) << "  " << format_byte_size(victim.size) << '\n';
    bytes += victim.size;
  }
  if (dry_run) {
    out << "would remove " << entries_and_bytes(victims.size(), bytes) << '\n';
    return ExitCode::Ok;
  }
  check(cache::remove_entries(shelf.files(), shelf.handle(), victims));
  check(cache::sweep_temporaries(shelf.files(), shelf.handle(), shelf.inventory,
                                 now - cache::kOrphanAgeMs));
  uint64_t journal_size = 0;
  if (!victims.empty()) cache::compact_uses(shelf.files(), shelf.handle(), journal_size);
  out << "removed " << entries_and_bytes(victims.size(), bytes) << '\n';
  return ExitCode::Ok;
}

ExitCode clear(const Shelf& shelf, std::ostream& out) {
  const std::vector<cache::EntryFile>& entries = shelf.inventory.entries;
  check(cache::remove_entries(shelf.files(), shelf.handle(), entries));
  // Those of writers that live, too: they lose an entry that was to be cleared.
  check(cache::sweep_temporaries(shelf.files(), shelf.handle(), shelf.inventory, INT64_MAX));
  for (const char* journal : {cache::kUsesName, cache::kPublishedName}) {
    const int error =
        shelf.directory ? cache::free_name(shelf.files(), shelf.handle(), journal) : 0;
    if (error != 0 && error != ENOENT)
      throw Failure(ExitCode::Io, "the journal '" + std::string(journal) +
                                      "' could not be removed: " + cache::describe_errno(error));
  }
  const uint64_t bytes = shelf.inventory.entry_bytes() + shelf.inventory.temporary_bytes();
  out << "removed " << entries_and_bytes(entries.size(), bytes) << '\n';
  return ExitCode::Ok;
}

}  // namespace adjit::cache_tool
