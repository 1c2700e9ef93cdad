// jit/cache/files/replace_file.hpp -- a whole file put in place in one step.
#pragma once

#include <string>
#include <string_view>

#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

/// Writes `bytes` to a new file of mode 0600 under a random temporary name in `directory`, then
/// renames it to `name`. Returns 0 or an errno; on failure the temporary file is removed and `name`
/// is as it was.
int replace_file(FileSystem& files, int directory, const std::string& name, std::string_view bytes);

}  // namespace adjit::cache
