// jit/cache/store_state.hpp -- what the threads of a store share: its options, what it counts, and
// whether it still writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "jit/cache/files/directory.hpp"
#include "jit/cache/options.hpp"

namespace adjit::cache {

struct StoreCounters {
  std::atomic<uint64_t> hits{0}, misses{0}, published{0}, deleted{0}, evicted{0};
};

struct StoreState {
  const StoreOptions options;
  FileSystem& files = *options.files;
  StoreCounters counters = {};
  std::atomic<bool> latched{false};  // no more writing
  std::atomic<bool> warned_of_directory{false};
  std::atomic<bool> warned_of_shared{false};
};

/// Whether saving can still have an effect.
bool writable(const StoreState& store);

/// The store's own directory, or the one that it shares, opened. The log hears once why either will
/// not do.
Directory open_directory_of(StoreState& store, Sharing sharing);

/// A warning to the log, unless one has been given.
void warn_once(const StoreState& store, std::atomic<bool>& warned, const std::string& message);

}  // namespace adjit::cache
