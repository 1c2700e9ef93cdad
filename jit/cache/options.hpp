// jit/cache/options.hpp -- what a store is told, and how the environment says it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "jit/cache/files/file_system.hpp"
#include "jit/cache/log.hpp"

namespace adjit::cache {

enum class Mode { Off, ReadOnly, ReadWrite };

struct StoreOptions {
  Mode mode = Mode::ReadWrite;
  std::filesystem::path directory;         // empty: nothing is kept on disk
  std::filesystem::path shared_directory;  // read after `directory`, never written; may be empty
  uint64_t max_bytes = uint64_t{1} << 30;  // of all entries; 0: no limit
  // What waits to be written; what would exceed it is not stored.
  uint64_t max_queued_bytes = uint64_t{64} << 20;
  Log log;
  FileSystem* files = &real_file_system();  // borrowed; outlives the store
};

/// The value of a variable, or null.
using Environment = std::function<const char*(const char*)>;

/// Reads
///
///   ADJIT_CACHE=off|ro|rw   rw when unset
///   ADJIT_CACHE_DIR         else $XDG_CACHE_HOME/adjit, else $HOME/.cache/adjit, else none
///   ADJIT_CACHE_MAX_SIZE    bytes, or with a suffix K, M, G, T; 0: no limit
///   ADJIT_CACHE_SHARED      a second directory, read only
///
/// A relative directory is taken from the current one, a relative XDG_CACHE_HOME ignored, as its
/// specification says. A value that cannot be understood is warned of in `log` and counts as unset,
/// except that a bad ADJIT_CACHE means off.
StoreOptions options_from(const Environment& environment, Log log = {});

/// options_from with this process's environment. Must not race with setenv.
StoreOptions options_from_environment(Log log = {});

}  // namespace adjit::cache
