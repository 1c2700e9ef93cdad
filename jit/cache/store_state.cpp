// jit/cache/store_state.cpp -- the directories of a store, and each warning once.
#include "jit/cache/store_state.hpp"

namespace adjit::cache {

bool writable(const StoreState& store) {
  return store.options.mode == Mode::ReadWrite && !store.latched;
}

Directory open_directory_of(StoreState& store, Sharing sharing) {
  const bool own = sharing == Sharing::Private;
  Directory directory = open_directory(
      store.files, own ? store.options.directory : store.options.shared_directory, sharing);
  if (!directory.refusal.empty())
    warn_once(
        store, own ? store.warned_of_directory : store.warned_of_shared,
        std::string(own ? "the cache" : "the shared cache") + " is not used: " + directory.refusal);
  return directory;
}

void warn_once(const StoreState& store, std::atomic<bool>& warned, const std::string& message) {
  if (!warned.exchange(true)) say(store.options.log, Level::Warning, message);
}

}  // namespace adjit::cache
