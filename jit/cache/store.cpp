// jit/cache/store.cpp -- loading, and handing to the writer what is to be stored.
#include "jit/cache/store.hpp"

#include <cerrno>
#include <exception>
#include <memory>
#include <utility>

#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/nearest.hpp"
#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

namespace {

size_t approximate_size(const Entry& entry) {
  size_t size = kSmallestEntry;
  for (const Component& component : entry.key.components)
    size += component.name.size() + component.value.size();
  for (const Section& section : entry.sections) size += section.name.size() + section.bytes.size();
  return size;
}

Lookup miss(std::string reason) { return {std::nullopt, std::move(reason)}; }

void remove(StoreState& store, int directory, const Signature& id, const std::string& reason) {
  const int error = free_name(store.files, directory, entry_name(id).c_str());
  const bool removed = error == 0;
  if (removed) ++store.counters.deleted;
  if (!removed && error == ENOENT) return;
  say(store.options.log, Level::Info,
      "cache entry " + to_hex(id) + (removed ? " is deleted: " : " cannot be deleted: ") + reason +
          (removed ? "" : "; " + describe_errno(error)));
}

Lookup reject(StoreState& store, Sharing sharing, int directory, const Signature& id,
              const EntryRead& read) {
  if (read.fault == Fault::Content && sharing == Sharing::Private && writable(store))
    remove(store, directory, id, read.reason);
  else if (read.fault != Fault::Absent)
    say(store.options.log, Level::Info,
        "cache entry " + to_hex(id) + " is not used: " + read.reason);
  return miss(read.reason);
}

Lookup load_from(StoreState& store, Sharing sharing, const Signature& id, const Key& key) {
  const Directory directory = open_directory_of(store, sharing);
  if (!directory)
    return miss(directory.absent ? "no entry" : "no cache directory: " + directory.refusal);
  EntryRead read = read_entry(store.files, directory.descriptor.number(), id, sharing);
  if (read.fault == Fault::None) {
    if (const auto difference = first_difference(read.entry->key, key)) {
      read.fault = Fault::Content;
      read.reason = "component '" + *difference + "' differs";
    }
  }
  if (read.fault != Fault::None)
    return reject(store, sharing, directory.descriptor.number(), id, read);
  return {std::move(read.entry), {}};
}

}  // namespace

Store::Store(StoreOptions options) : state_{std::move(options)}, writer_(state_) {}

Store::~Store() = default;

bool Store::writable() const { return cache::writable(state_); }

StoreCounts Store::counts() const {
  const StoreCounters& c = state_.counters;
  return {c.hits, c.misses, c.published, c.deleted, c.evicted};
}

Lookup Store::load(const Key& key) {
  if (state_.options.mode == Mode::Off) return miss("the cache is off");
  const Signature id = signature_of(key);
  Lookup found = load_from(state_, Sharing::Private, id, key);
  if (found.entry && writable()) background_.enqueue([this, id] { writer_.record_use(id); });
  if (!found.entry && !state_.options.shared_directory.empty()) {
    Lookup shared = load_from(state_, Sharing::Shared, id, key);
    if (shared.entry) found = std::move(shared);
  }
  ++(found.entry ? state_.counters.hits : state_.counters.misses);
  return found;
}

void Store::discard(const Key& key, const std::string& reason) {
  if (!writable()) return;
  flush();  // it may still be on its way
  const Directory directory = open_directory_of(state_, Sharing::Private);
  if (directory) remove(state_, directory.descriptor.number(), signature_of(key), reason);
}

std::string Store::explain(const Key& key) {
  constexpr size_t most = 256;
  if (state_.options.mode == Mode::Off) return "the cache is off";
  const Directory directory = open_directory_of(state_, Sharing::Private);
  if (!directory) return directory.absent ? "the cache is empty" : directory.refusal;
  const std::optional<Nearest> nearest =
      find_nearest(state_.files, directory.descriptor.number(), key, most);
  if (!nearest) return "no entry is like it";
  return "'" + nearest->difference + "' differs from entry " + to_hex(nearest->id).substr(0, 8);
}

void Store::save(Entry entry) {
  if (!writable()) return;
  const size_t size = approximate_size(entry);
  if (background_.waiting_bytes() + size > state_.options.max_queued_bytes) {
    say(state_.options.log, Level::Debug,
        "a cache entry is not stored: too much waits to be written");
    return;
  }
  // std::function wants copies; a shared entry is one.
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const auto job = [this, shared] {
    try {
      writer_.publish(*shared);
    } catch (const std::exception& error) {
      say(state_.options.log, Level::Info,
          std::string("a cache entry is not stored: ") + error.what());
    }
  };
  background_.enqueue(job, size);
}

void Store::flush() { background_.flush(); }

}  // namespace adjit::cache
