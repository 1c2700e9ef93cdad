// tools/adjit-cache/shelf.hpp -- a cache directory opened for looking, and its entries by
// abbreviated id.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/inventory.hpp"
#include "jit/cache/files/directory.hpp"

namespace adjit::cache_tool {

/// The directory and what lay in it when it was opened. A directory that does not exist is an empty
/// one.
struct Shelf {
  std::filesystem::path path;
  cache::Directory directory;
  cache::Inventory inventory;

  cache::FileSystem& files() const { return cache::real_file_system(); }
  int handle() const { return directory.descriptor.number(); }
};

/// Throws Failure (Io) for a directory that the cache would refuse.
Shelf open_shelf(const std::filesystem::path& path);

/// The entry whose id begins so. At least four digits, as with git. Throws Failure (Usage) when
/// none or several do.
const cache::EntryFile& resolve(const Shelf& shelf, std::string_view abbreviation);

/// The shortest beginning of an id, of at least eight digits, that no other entry shares.
std::string abbreviate(const Shelf& shelf, const cache::Signature& id);

/// Reads an entry and changes nothing, its recency included.
cache::EntryRead look_at(const Shelf& shelf, const cache::Signature& id);

/// Its key and provenance only: damage behind them is not seen.
cache::EntryRead glance_at(const Shelf& shelf, const cache::Signature& id);

/// The whole entry; throws Failure (Findings) when it is damaged, Failure (Io) when it cannot be
/// read.
cache::Entry take(const Shelf& shelf, const cache::Signature& id);

}  // namespace adjit::cache_tool
