// runtime/process/scratch_folder.hpp -- a folder for files that programs exchange.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// A new folder of this user's alone; it and what is in it are gone when this ends.
class ScratchFolder {
 public:
  /// parent/prefix-XXXXXX. std::system_error where it cannot be made.
  ScratchFolder(const std::filesystem::path& parent, const std::string& prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace adjit::process
