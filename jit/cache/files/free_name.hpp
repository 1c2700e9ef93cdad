// jit/cache/files/free_name.hpp -- takes away what stands under a name of the cache's, whatever it
// is.
#pragma once

#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

/// What was under the name of a file of ours and could not be removed: a directory that holds
/// something. It stays under such a name, for its owner to look at.
inline constexpr std::string_view kSetAsideStem = "set-aside-";

/// Unlinks a file or a link, removes an empty directory, and renames one that holds something.
/// Returns 0 or an errno, ENOENT when nothing stood there.
int free_name(FileSystem& files, int directory, const char* name);

}  // namespace adjit::cache
