// jit/cache/memory_tier.hpp -- values of this process by signature, each made once.
//
// A hit takes one lock of a shard and copies a shared pointer: it allocates nothing. Whoever asks
// for a value that another thread is making waits for it and gets the same value, or the same
// exception; a creation that failed is not remembered. Values are found again until they are
// evicted: least recently used first, once all together exceed a number of bytes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/shared_failure.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/cancellation.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cache {

/// How making a value ended, for those who wait.
template <class T>
struct Outcome {
  std::shared_ptr<T> value;
  std::optional<SharedFailure> failure;
};

/// A value being made; `promise` says by whom.
template <class T>
struct Flight {
  const std::promise<Outcome<T>>* promise;
  std::thread::id maker;
  std::shared_future<Outcome<T>> outcome;
};

/// The value; nullopt: its maker was cancelled.
template <class T>
std::optional<Outcome<T>> wait_for(const Flight<T>& flight) {
  invariant(flight.maker != std::this_thread::get_id(), "a value needs itself to be made");
  while (flight.outcome.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    check_cancelled();
  const Outcome<T>& outcome = flight.outcome.get();
  try {
    if (outcome.failure) outcome.failure->rethrow();
  } catch (const Cancelled&) {
    return std::nullopt;
  }
  return outcome;
}

/// Owns its values together with whoever holds a pointer to one. Any thread may call anything.
/// Locks are never held while a value is made, measured or destroyed. A forked child keeps the
/// values and forgets what other threads were making.
template <class T>
class MemoryTier {
 public:
  using Pointer = std::shared_ptr<T>;
  using SizeOf = std::function<size_t(const T&)>;  // bytes
  static constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

  /// Without `size_of` every value counts as one byte, and `capacity` is a number of values.
  explicit MemoryTier(size_t capacity = kUnbounded, SizeOf size_of = {})
      : capacity_(capacity),
        size_of_(std::move(size_of)),
        fork_(
            [this] {
              for (Shard& shard : shards_) shard.mutex.lock();
            },
            [this] {
              for (Shard& shard : shards_) shard.mutex.unlock();
            },
            [this] {
              // The makers of all values but this thread's are gone, and nobody else waits for its
              // own.
              for (Shard& shard : shards_) shard.flights.clear();
              for (Shard& shard : shards_) shard.mutex.unlock();
            }) {}

  /// The value, or null. Counts as a use.
  Pointer find(const Signature& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    return find_locked(shard, key);
  }

  /// The value; made by `create() -> std::shared_ptr<T>` when there is none. Blocks while another
  /// thread makes it, and makes it where that one's call was cancelled (or throws Cancelled where
  /// its own is). Throws what `create` throws, here or in the thread that made it (see
  /// shared_failure.hpp), and Error (Internal) when `create` asks for its own key. A null result is
  /// handed on and not remembered. Creations must not wait for each other in a circle. The newest
  /// value stays even when it alone exceeds the capacity.
  template <class Create>
  Pointer get_or_create(const Signature& key, Create&& create) {
    Shard& shard = shard_of(key);
    std::unique_lock lock(shard.mutex);
    for (;; lock.lock()) {
      if (Pointer hit = find_locked(shard, key)) return hit;
      const auto running = shard.flights.find(key);
      if (running == shard.flights.end()) break;
      const Flight flight = running->second;
      lock.unlock();
      if (const std::optional<Outcome> outcome = wait_for(flight)) return outcome->value;
    }
    std::promise<Outcome> promise;
    shard.flights.emplace(
        key, Flight{&promise, std::this_thread::get_id(), promise.get_future().share()});
    lock.unlock();
    return make(key, promise, create);
  }

  /// Forgets the value; whoever holds it keeps it. False when there was none.
  bool erase(const Signature& key) {
    Shard& shard = shard_of(key);
    Pointer released;
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.index.find(key);
    if (found == shard.index.end()) return false;
    released = take_locked(shard, found->second);
    return true;
  }

  void clear() {
    for (Shard& shard : shards_) {
      std::vector<Pointer> released;
      const std::lock_guard lock(shard.mutex);
      while (!shard.slots.empty()) released.push_back(take_locked(shard, shard.slots.begin()));
    }
  }

  size_t size() const {
    size_t count = 0;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      count += shard.slots.size();
    }
    return count;
  }

  /// The sizes of all values together.
  size_t bytes() const { return bytes_; }

 private:
  struct Slot {
    Signature key;
    Pointer value;
    size_t bytes = 0;
    uint64_t last_use = 0;  // of clock_
  };
  using Slots = std::list<Slot>;

  using Outcome = cache::Outcome<T>;
  using Flight = cache::Flight<T>;

  struct alignas(64) Shard {
    mutable std::mutex mutex;
    Slots slots;  // most recently used first
    std::unordered_map<Signature, typename Slots::iterator, SignatureHash> index;
    std::unordered_map<Signature, Flight, SignatureHash> flights;
  };

  // The table uses the low half of a signature, so shards go by the high one.
  Shard& shard_of(const Signature& key) { return shards_[key.high % shards_.size()]; }

  Pointer find_locked(Shard& shard, const Signature& key) {
    const auto found = shard.index.find(key);
    if (found == shard.index.end()) return nullptr;
    const typename Slots::iterator slot = found->second;
    if (slot != shard.slots.begin()) shard.slots.splice(shard.slots.begin(), shard.slots, slot);
    if (capacity_ != kUnbounded) slot->last_use = ++clock_;
    return slot->value;
  }

  /// Takes a slot out; the caller lets go of the value after the lock.
  Pointer take_locked(Shard& shard, typename Slots::iterator slot) {
    bytes_ -= slot->bytes;
    Pointer value = std::move(slot->value);
    shard.index.erase(slot->key);
    shard.slots.erase(slot);
    return value;
  }

  template <class Create>
  Pointer make(const Signature& key, std::promise<Outcome>& promise, Create& create) {
    Pointer value;
    try {
      value = create();
      const size_t bytes = value == nullptr ? 0 : size_of_ ? size_of_(*value) : 1;
      land(key, promise, value, bytes);
    } catch (...) {
      land(key, promise, nullptr, 0);
      promise.set_value({nullptr, SharedFailure::current()});
      throw;
    }
    promise.set_value({value, std::nullopt});
    evict(key);
    return value;
  }

  /// Ends a flight and keeps its value, if any. From here on the key is found, or may be tried
  /// again.
  void land(const Signature& key, const std::promise<Outcome>& promise, const Pointer& value,
            size_t bytes) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    if (value != nullptr && !shard.index.contains(key)) {
      Slots slot;  // made aside, so that an allocation that fails leaves the shard as it was
      slot.push_back({key, value, bytes, ++clock_});
      shard.index.emplace(key, slot.begin());
      shard.slots.splice(shard.slots.begin(), slot);
      bytes_ += bytes;
    }
    const auto flight = shard.flights.find(key);
    if (flight != shard.flights.end() && flight->second.promise == &promise)
      shard.flights.erase(flight);
  }

  /// Lets the least recently used values go until the rest fits, sparing `newest`.
  void evict(const Signature& newest) {
    std::vector<Pointer> released;
    while (bytes_ > capacity_) {
      Shard* const shard = shard_of_oldest(newest);
      if (shard == nullptr) return;
      const std::lock_guard lock(shard->mutex);
      if (shard->slots.empty()) continue;  // another thread was quicker
      if (shard->slots.back().key == newest) continue;
      released.push_back(take_locked(*shard, std::prev(shard->slots.end())));
    }
  }

  Shard* shard_of_oldest(const Signature& newest) {
    Shard* oldest = nullptr;
    uint64_t oldest_use = std::numeric_limits<uint64_t>::max();
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      if (shard.slots.empty() || shard.slots.back().key == newest) continue;
      if (shard.slots.back().last_use >= oldest_use) continue;
      oldest = &shard;
      oldest_use = shard.slots.back().last_use;
    }
    return oldest;
  }

  const size_t capacity_;
  const SizeOf size_of_;
  std::array<Shard, 16> shards_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<size_t> bytes_{0};
  ForkHandler fork_;
};

}  // namespace adjit::cache
