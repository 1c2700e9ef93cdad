// jit/cache/contents/inventory.cpp -- listing a cache directory.
#include "jit/cache/contents/inventory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "jit/cache/contents/uses.hpp"
#include "jit/cache/files/directory.hpp"

namespace adjit::cache {

namespace {

int64_t modified_unix_ms(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

// Clocks of machines that share a directory differ by this much.
constexpr int64_t kClockSkewMs = 60 * 1000;

int64_t past_or_unknown(int64_t unix_ms, int64_t now) {
  return unix_ms > now + kClockSkewMs ? 0 : unix_ms;
}

EntryFile entry_file(const Signature& id, const struct stat& status, const Uses& uses,
                     int64_t now) {
  EntryFile entry{id, static_cast<uint64_t>(status.st_size), modified_unix_ms(status), 0, 0};
  entry.last_used_unix_ms = past_or_unknown(entry.written_unix_ms, now);
  const auto use = uses.find(id);
  if (use == uses.end()) return entry;
  entry.last_used_unix_ms =
      std::max(entry.last_used_unix_ms, past_or_unknown(use->second.last_unix_ms, now));
  entry.uses = use->second.count;
  return entry;
}

}  // namespace

uint64_t Inventory::entry_bytes() const {
  uint64_t sum = 0;
  for (const EntryFile& entry : entries) sum += entry.size;
  return sum;
}

uint64_t Inventory::temporary_bytes() const {
  uint64_t sum = 0;
  for (const TemporaryFile& temporary : temporaries) sum += temporary.size;
  return sum;
}

int take_inventory(FileSystem& files, int directory, Inventory& inventory, int64_t now) {
  inventory = {};
  std::vector<std::string> names;
  if (files.list(directory, names) != 0) return errno;
  Uses uses;
  read_uses(files, directory, uses);
  for (std::string& name : names) {
    struct stat status{};
    if (name == kUsesName || name == kPublishedName ||
        files.status_at(directory, name.c_str(), status) != 0)
      continue;
    if (const std::optional<Signature> id = id_of_entry_name(name)) {
      inventory.entries.push_back(entry_file(*id, status, uses, now));
    } else if (name.starts_with(kTemporaryStem)) {
      inventory.temporaries.push_back({std::move(name), static_cast<uint64_t>(status.st_size),
                                       past_or_unknown(modified_unix_ms(status), now)});
    } else {
      inventory.strangers.push_back(std::move(name));
    }
  }
  std::ranges::sort(inventory.entries, {}, &EntryFile::id);
  std::ranges::sort(inventory.strangers);
  return 0;
}

int64_t now_unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace adjit::cache
