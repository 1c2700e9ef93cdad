// tools/adjit-cache/maintain.cpp -- verify, prune, clear.
#include <cerrno>

#include "jit/cache/byte_size.hpp"
#include "jit/cache/eviction.hpp"
#include "jit/cache/uses.hpp"
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
  check(cache::sweep_orphans(shelf.files(), shelf.handle(), shelf.inventory, now));
  uint64_t journal_size = 0;
  if (!victims.empty()) cache::compact_uses(shelf.files(), shelf.handle(), journal_size);
  out << "removed " << entries_and_bytes(victims.size(), bytes) << '\n';
  return ExitCode::Ok;
}

ExitCode clear(const Shelf& shelf, std::ostream& out) {
  const std::vector<cache::EntryFile>& entries = shelf.inventory.entries;
  check(cache::remove_entries(shelf.files(), shelf.handle(), entries));
  check(cache::sweep_orphans(shelf.files(), shelf.handle(), shelf.inventory, cache::now_unix_ms()));
  if (shelf.directory && shelf.files().unlink_at(shelf.handle(), cache::kUsesName) != 0 &&
      errno != ENOENT)
    throw Failure(ExitCode::Io, std::string("the journal of uses could not be removed: ") +
                                    cache::describe_errno(errno));
  out << "removed " << entries_and_bytes(entries.size(), shelf.inventory.entry_bytes()) << '\n';
  return ExitCode::Ok;
}

}  // namespace adjit::cache_tool
