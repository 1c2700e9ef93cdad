// jit/cache/contents/nearest.hpp -- the entry most like a key: what explains a miss.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

struct Nearest {
  Signature id;
  size_t differing = 0;    // components
  std::string difference;  // the first of them
};

/// Among the `most` latest entries whose keys begin with the same component, the one with the
/// fewest components that differ or that one of the two lacks; the later one at a tie. The key's
/// own entry does not count. Changes nothing. Throws only std::bad_alloc.
std::optional<Nearest> find_nearest(FileSystem& files, int directory, const Key& key, size_t most);

}  // namespace adjit::cache
