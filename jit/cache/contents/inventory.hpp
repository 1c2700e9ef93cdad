// jit/cache/contents/inventory.hpp -- what lies in a cache directory. Looking changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

struct EntryFile {
  Signature id;
  uint64_t size = 0;              // bytes
  int64_t written_unix_ms = 0;    // when it was published
  int64_t last_used_unix_ms = 0;  // the later of publication and last hit; 0 when unknown
  uint64_t uses = 0;              // hits on disk since publication
};

/// A file that somebody is writing, or died writing.
struct TemporaryFile {
  std::string name;
  uint64_t size = 0;
  int64_t written_unix_ms = 0;
};

struct Inventory {
  std::vector<EntryFile> entries;  // by id
  std::vector<TemporaryFile> temporaries;
  std::vector<std::string> strangers;  // names that the cache did not make

  uint64_t entry_bytes() const;
  uint64_t temporary_bytes() const;
};

/// Milliseconds since 1970, of the system's clock.
int64_t now_unix_ms();

/// Lists a directory without opening an entry. Returns 0 or an errno; files that vanish meanwhile
/// are left out, and an unreadable journal of uses counts as empty. A time that is still to come (a
/// clock was wrong) says nothing: such an entry counts as never used, such a temporary as old.
int take_inventory(FileSystem& files, int directory, Inventory& inventory,
                   int64_t now = now_unix_ms());

}  // namespace adjit::cache
