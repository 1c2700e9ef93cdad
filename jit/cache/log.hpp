// jit/cache/log.hpp -- where the cache's messages go: a callback that the caller brings.
#pragma once

#include <functional>
#include <string>

#include "runtime/process/rooms.hpp"

namespace adjit::cache {

enum class Level { Error, Warning, Info, Debug, Trace };

/// Takes one message. Called from any thread that uses the cache and from its writer thread, never
/// under a lock. Empty: messages are dropped.
using Log = std::function<void(Level, const std::string&)>;

/// Hands `message` to `log`. A callback that throws loses its message and harms nobody.
inline void say(const Log& log, Level level, const std::string& message) noexcept {
  if (!log) return;
  try {
    log(level, message);
  } catch (...) {
    return;
  }
}

}  // namespace adjit::cache
