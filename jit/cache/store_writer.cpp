// jit/cache/store_writer.cpp -- publishing, evicting, and giving up gracefully.
#include "jit/cache/store_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "jit/cache/byte_size.hpp"
#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/eviction.hpp"
#include "jit/cache/contents/inventory.hpp"
#include "jit/cache/contents/uses.hpp"

namespace adjit::cache {
namespace {

// After these, the next write would fail in the same way.
bool ends_writing(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EACCES ||
         error == EPERM || error == EFBIG;
}

// Makes the directory where there is none.
Directory open_for_writing(StoreState& store) {
  Directory directory = open_directory_of(store, Sharing::Private);
  if (!directory.absent) return directory;
  const int error = make_directories(store.files, store.options.directory);
  if (error != 0) {
    store.latched = true;
    warn_once(store, store.warned_of_directory,
              "the cache directory '" + store.options.directory.string() +
                  "' cannot be made: " + describe_errno(error) + "; nothing is kept on disk");
    return directory;
  }
  return open_directory_of(store, Sharing::Private);
}

void give_up_on(StoreState& store, int error, const std::string& what) {
  if (!ends_writing(error)) {
    say(store.options.log, Level::Info, what + " is not stored: " + describe_errno(error));
    return;
  }
  warn_once(store, store.latched,
            "the cache '" + store.options.directory.string() +
                "' is read only from now on: " + describe_errno(error));
}

}  // namespace

void StoreWriter::publish(const Entry& entry) {
  if (store_.latched) return;
  const std::string bytes = encode(entry);
  if (store_.options.max_bytes != 0 && bytes.size() > store_.options.max_bytes) {
    say(store_.options.log, Level::Debug,
        "a cache entry is not stored: its " + format_byte_size(bytes.size()) +
            " exceed the limit of " + format_byte_size(store_.options.max_bytes));
    return;
  }
  const Directory directory = open_for_writing(store_);
  if (!directory) return;
  const int handle = directory.descriptor.number();
  const int error = publish_entry(store_.files, handle, signature_of(entry.key), bytes);
  if (error != 0) return give_up_on(store_, error, "a cache entry");
  ++store_.counters.published;
  account(handle, bytes.size());
}

void StoreWriter::record_use(const Signature& id) {
  if (store_.latched) return;
  const Directory directory = open_directory_of(store_, Sharing::Private);
  if (!directory) return;
  const int handle = directory.descriptor.number();
  uint64_t journal_size = 0;
  int error = append_use(store_.files, handle, id, now_unix_ms(), journal_size);
  if (error == 0 && journal_size > journal_limit_) {
    error = compact_uses(store_.files, handle, journal_size);
    journal_limit_ = std::max(kSmallestJournalLimit, 2 * journal_size);
  }
  if (error != 0) give_up_on(store_, error, "the use of a cache entry");
}

// Counts the directory where what lies there is not known, or may exceed the limit; sweeps and
// evicts where due. Every writer knows what the others publish, so however many there are, each
// evicts before it has published a second entry above the limit.
void StoreWriter::account(int directory, uint64_t bytes) {
  const uint64_t limit = store_.options.max_bytes;
  const std::optional<uint64_t> grown = published_.add(store_.files, directory, bytes);
  stored_bytes_ += grown.value_or(0);
  if (grown && (limit == 0 || stored_bytes_ <= limit)) return;
  Inventory inventory;
  const int64_t now = now_unix_ms();
  if (take_inventory(store_.files, directory, inventory, now) != 0) return;
  stored_bytes_ = inventory.entry_bytes() + inventory.temporary_bytes();
  const bool full = limit != 0 && stored_bytes_ > limit;
  const Removed swept = sweep_temporaries(store_.files, directory, inventory,
                                          now - (full ? kStuckAgeMs : kOrphanAgeMs));
  stored_bytes_ -= std::min(stored_bytes_, swept.bytes);
  if (!full) return;
  // To a tenth below the limit, so that not every publication evicts. What others are writing lies
  // there, too.
  const uint64_t kept = limit - limit / 10;
  const uint64_t writing =
      inventory.temporary_bytes() - std::min(swept.bytes, inventory.temporary_bytes());
  const std::vector<EntryFile> victims =
      choose_victims(inventory.entries, {kept - std::min(kept, writing), {}});
  const Removed removed = remove_entries(store_.files, directory, victims);
  store_.counters.evicted += removed.files;
  stored_bytes_ -= std::min(stored_bytes_, removed.bytes);
  say(store_.options.log, Level::Debug,
      "the cache evicted " + std::to_string(removed.files) + " entries, " +
          format_byte_size(removed.bytes));
}

}  // namespace adjit::cache
