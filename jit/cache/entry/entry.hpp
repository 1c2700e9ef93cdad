// jit/cache/entry/entry.hpp -- one entry of the cache as a value, and as bytes.
//
// The bytes, all numbers little-endian, nothing aligned:
//
//   entry       := header component* provenance section* checksum
//   header      := magic version:u32 components:u32 sections:u32 total:u64      28 bytes
//   magic       := 'a' 'd' 'j' 'i' 't' CR LF NUL
//   component   := name:string value:string          as many as the header says, in key order
//   provenance  := json:string                       see provenance.hpp
//   section     := name:string bytes:string          as many as the header says, at most 64, names
//                                                    distinct
//   string      := size:u64 byte*                    `size` bytes
//   checksum    := low:u64 high:u64                  xxh3-128 of every byte before it
//
// `version` is that of this grammar; `total` is the length of the whole entry in bytes. Nothing
// follows the checksum. A reader looks at length, magic, version, total and checksum before it
// believes a size, and even then allocates in proportion to what the entry holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/entry/provenance.hpp"

namespace adjit::cache {

inline constexpr uint32_t kEntryVersion = 1;
inline constexpr uint64_t kSmallestEntry = 52;  // bytes: header, empty provenance, checksum
inline constexpr uint64_t kLargestEntry = uint64_t{256} << 20;  // bytes; more is refused both ways
inline constexpr uint32_t kMostSections = 64;

/// One named payload, such as "graph", "text", "schedule", "llvm" or "object". The cache looks into
/// none.
struct Section {
  std::string name;
  std::string bytes;
  bool operator==(const Section&) const = default;
};

struct Entry {
  Key key;
  Provenance provenance;
  std::vector<Section> sections;  // names are distinct

  Entry& add(std::string name, std::string bytes);
  /// The bytes of the section called `name`, owned by this entry, or null.
  const std::string* section(std::string_view name) const;
  bool operator==(const Entry&) const = default;
};

/// Throws Error (Cache) when two sections have one name, there are too many, or the result would
/// exceed kLargestEntry.
std::string encode(const Entry& entry);

/// Throws Error (Cache) with the reason for anything that `encode` does not write.
Entry decode(std::string_view bytes);

/// The key and the provenance from the first bytes of an entry, which need not hold its sections;
/// no checksum is looked at. `size` is that of the whole entry. Throws Error (Cache) as `decode`
/// does, also where these bytes end before the provenance does.
Entry decode_head(std::string_view first_bytes, uint64_t size);

}  // namespace adjit::cache
