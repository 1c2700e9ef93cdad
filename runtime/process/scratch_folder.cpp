// runtime/process/scratch_folder.cpp -- a folder for files that programs exchange.
#include "runtime/process/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace adjit::process {

ScratchFolder::ScratchFolder(const std::filesystem::path& parent, const std::string& prefix) {
  std::string pattern = (parent / (prefix + "-XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace adjit::process
