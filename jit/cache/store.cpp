// jit/cache/store.cpp -- loading, publishing, and giving up gracefully.
#include "jit/cache/store.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <utility>

#include "jit/cache/byte_size.hpp"
#include "jit/cache/contents/eviction.hpp"
#include "jit/cache/contents/nearest.hpp"
#include "jit/cache/contents/uses.hpp"
#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

namespace {

constexpr uint64_t kSmallestJournalLimit = uint64_t{1} << 20;

/// After these, the next write would fail in the same way.
bool ends_writing(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EACCES ||
         error == EPERM || error == EFBIG;
}

size_t approximate_size(const Entry& entry) {
  size_t size = kSmallestEntry;
  for (const Component& component : entry.key.components)
    size += component.name.size() + component.value.size();
  for (const Section& section : entry.sections) size += section.name.size() + section.bytes.size();
  return size;
}

Lookup miss(std::string reason) { return {std::nullopt, std::move(reason)}; }

}  // namespace

Store::Store(StoreOptions options)
    : options_(std::move(options)),
      files_(*options_.files),
      journal_limit_(kSmallestJournalLimit) {}

Store::~Store() = default;

bool Store::writable() const { return options_.mode == Mode::ReadWrite && !latched_; }

StoreCounts Store::counts() const {
  return {counters_.hits, counters_.misses, counters_.published, counters_.deleted,
          counters_.evicted};
}

void Store::warn_once(std::atomic<bool>& warned, const std::string& message) {
  if (!warned.exchange(true)) say(options_.log, Level::Warning, message);
}

// -- loading

Directory Store::open(Sharing sharing) {
  const bool own = sharing == Sharing::Private;
  Directory directory =
      open_directory(files_, own ? options_.directory : options_.shared_directory, sharing);
  if (!directory.refusal.empty())
    warn_once(
        own ? warned_of_directory_ : warned_of_shared_,
        std::string(own ? "the cache" : "the shared cache") + " is not used: " + directory.refusal);
  return directory;
}

Lookup Store::load(const Key& key) {
  if (options_.mode == Mode::Off) return miss("the cache is off");
  const Signature id = signature_of(key);
  Lookup found = load_from(Sharing::Private, id, key);
  if (!found.entry && !options_.shared_directory.empty()) {
    Lookup shared = load_from(Sharing::Shared, id, key);
    if (shared.entry) found = std::move(shared);
  }
  ++(found.entry ? counters_.hits : counters_.misses);
  return found;
}

Lookup Store::load_from(Sharing sharing, const Signature& id, const Key& key) {
  const Directory directory = open(sharing);
  if (!directory)
    return miss(directory.absent ? "no entry" : "no cache directory: " + directory.refusal);
  EntryRead read = read_entry(files_, directory.descriptor.number(), id, sharing);
  if (read.fault == Fault::None) {
    if (const auto difference = first_difference(read.entry->key, key)) {
      read.fault = Fault::Content;
      read.reason = "component '" + *difference + "' differs";
    }
  }
  if (read.fault != Fault::None) return reject(sharing, directory.descriptor.number(), id, read);
  if (sharing == Sharing::Private && writable())
    background_.enqueue([this, id] { record_use(id); });
  return {std::move(read.entry), {}};
}

Lookup Store::reject(Sharing sharing, int directory, const Signature& id, const EntryRead& read) {
  if (read.fault == Fault::Content && sharing == Sharing::Private && writable())
    remove(directory, id, read.reason);
  else if (read.fault != Fault::Absent)
    say(options_.log, Level::Info, "cache entry " + to_hex(id) + " is not used: " + read.reason);
  return miss(read.reason);
}

void Store::remove(int directory, const Signature& id, const std::string& reason) {
  const int error = free_name(files_, directory, entry_name(id).c_str());
  const bool removed = error == 0;
  if (removed) ++counters_.deleted;
  if (!removed && error == ENOENT) return;
  say(options_.log, Level::Info,
      "cache entry " + to_hex(id) + (removed ? " is deleted: " : " cannot be deleted: ") + reason +
          (removed ? "" : "; " + describe_errno(error)));
}

void Store::discard(const Key& key, const std::string& reason) {
  if (!writable()) return;
  flush();  // it may still be on its way
  const Directory directory = open(Sharing::Private);
  if (directory) remove(directory.descriptor.number(), signature_of(key), reason);
}

std::string Store::explain(const Key& key) {
  constexpr size_t most = 256;
  if (options_.mode == Mode::Off) return "the cache is off";
  const Directory directory = open(Sharing::Private);
  if (!directory) return directory.absent ? "the cache is empty" : directory.refusal;
  const std::optional<Nearest> nearest =
      find_nearest(files_, directory.descriptor.number(), key, most);
  if (!nearest) return "no entry is like it";
  return "'" + nearest->difference + "' differs from entry " + to_hex(nearest->id).substr(0, 8);
}

// -- saving

void Store::save(Entry entry) {
  if (!writable()) return;
  const size_t size = approximate_size(entry);
  if (background_.waiting_bytes() + size > options_.max_queued_bytes) {
    say(options_.log, Level::Debug, "a cache entry is not stored: too much waits to be written");
    return;
  }
  // std::function wants copies; a shared entry is one.
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const auto job = [this, shared] {
    try {
      publish(*shared);
    } catch (const std::exception& error) {
      say(options_.log, Level::Info, std::string("a cache entry is not stored: ") + error.what());
    }
  };
  background_.enqueue(job, size);
}

void Store::flush() { background_.flush(); }

Directory Store::open_for_writing() {
  Directory directory = open(Sharing::Private);
  if (!directory.absent) return directory;
  const int error = make_directories(files_, options_.directory);
  if (error != 0) {
    latched_ = true;
    warn_once(warned_of_directory_, "the cache directory '" + options_.directory.string() +
                                        "' cannot be made: " + describe_errno(error) +
                                        "; nothing is kept on disk");
    return directory;
  }
  return open(Sharing::Private);
}

void Store::publish(const Entry& entry) {
  if (latched_) return;
  const std::string bytes = encode(entry);
  if (options_.max_bytes != 0 && bytes.size() > options_.max_bytes) {
    say(options_.log, Level::Debug,
        "a cache entry is not stored: its " + format_byte_size(bytes.size()) +
            " exceed the limit of " + format_byte_size(options_.max_bytes));
    return;
  }
  const Directory directory = open_for_writing();
  if (!directory) return;
  const int handle = directory.descriptor.number();
  const int error = publish_entry(files_, handle, signature_of(entry.key), bytes);
  if (error != 0) return give_up_on(error, "a cache entry");
  ++counters_.published;
  account(handle, bytes.size());
}

void Store::give_up_on(int error, const std::string& what) {
  if (!ends_writing(error)) {
    say(options_.log, Level::Info, what + " is not stored: " + describe_errno(error));
    return;
  }
  warn_once(latched_, "the cache '" + options_.directory.string() +
                          "' is read only from now on: " + describe_errno(error));
}

void Store::record_use(const Signature& id) {
  if (latched_) return;
  const Directory directory = open(Sharing::Private);
  if (!directory) return;
  const int handle = directory.descriptor.number();
  uint64_t journal_size = 0;
  int error = append_use(files_, handle, id, now_unix_ms(), journal_size);
  if (error == 0 && journal_size > journal_limit_) {
    error = compact_uses(files_, handle, journal_size);
    journal_limit_ = std::max(kSmallestJournalLimit, 2 * journal_size);
  }
  if (error != 0) give_up_on(error, "the use of a cache entry");
}

/// Counts the directory where what lies there is not known, or may exceed the limit; sweeps and
/// evicts where due. Every writer knows what the others publish, so however many there are, each
/// evicts before it has published a second entry above the limit.
void Store::account(int directory, uint64_t bytes) {
  const uint64_t limit = options_.max_bytes;
  const std::optional<uint64_t> grown = published_.add(files_, directory, bytes);
  stored_bytes_ += grown.value_or(0);
  if (grown && (limit == 0 || stored_bytes_ <= limit)) return;
  Inventory inventory;
  const int64_t now = now_unix_ms();
  if (take_inventory(files_, directory, inventory, now) != 0) return;
  stored_bytes_ = inventory.entry_bytes() + inventory.temporary_bytes();
  const bool full = limit != 0 && stored_bytes_ > limit;
  const Removed swept =
      sweep_temporaries(files_, directory, inventory, now - (full ? kStuckAgeMs : kOrphanAgeMs));
  stored_bytes_ -= std::min(stored_bytes_, swept.bytes);
  if (!full) return;
  // To a tenth below the limit, so that not every publication evicts. What others are writing lies
  // there, too.
  const uint64_t kept = limit - limit / 10;
  const uint64_t writing =
      inventory.temporary_bytes() - std::min(swept.bytes, inventory.temporary_bytes());
  const std::vector<EntryFile> victims =
      choose_victims(inventory.entries, {kept - std::min(kept, writing), {}});
  const Removed removed = remove_entries(files_, directory, victims);
  counters_.evicted += removed.files;
  stored_bytes_ -= std::min(stored_bytes_, removed.bytes);
  say(options_.log, Level::Debug,
      "the cache evicted " + std::to_string(removed.files) + " entries, " +
          format_byte_size(removed.bytes));
}

}  // namespace adjit::cache
