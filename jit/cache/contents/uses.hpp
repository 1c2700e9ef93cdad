// jit/cache/contents/uses.hpp -- when and how often entries were used, in a file beside them.
//
// Recency is not written into entries, and not into their time stamps either, so that an entry's
// file never changes after its publication. The file "uses" is a journal that grows by one line a
// use,
//
//   line := NL id SP unix-milliseconds SP count NL        id: 32 hexadecimal digits
//
// and is rewritten, one line an entry, when it has grown large. A line that is torn or garbled is
// skipped (each line begins with its own newline, so it spoils no other). Two processes that append
// and rewrite at once may lose a use: that costs precision of the eviction order and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

struct Use {
  int64_t last_unix_ms = 0;
  uint64_t count = 0;
  bool operator==(const Use&) const = default;
};

using Uses = std::unordered_map<Signature, Use, SignatureHash>;

/// The sum of all lines of a journal.
Uses parse_uses(std::string_view text);

/// Adds one use. On success `journal_size` is the size of the journal in bytes. Returns 0 or an
/// errno.
int append_use(FileSystem& files, int directory, const Signature& id, int64_t now_unix_ms,
               uint64_t& journal_size);

/// Reads the journal; an absent one is empty. Returns 0 or an errno.
int read_uses(FileSystem& files, int directory, Uses& uses);

/// Rewrites the journal to one line for each entry that is still there. On success `journal_size`
/// is its new size. Returns 0 or an errno.
int compact_uses(FileSystem& files, int directory, uint64_t& journal_size);

}  // namespace adjit::cache
