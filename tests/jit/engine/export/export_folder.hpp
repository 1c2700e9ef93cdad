// tests/jit/engine/export/export_folder.hpp -- a folder for a library, which goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/rooms.hpp"

namespace adjit::testing {

class ExportFolder {
 public:
  ExportFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjit-export-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory " + pattern);
    path = pattern;
  }
  ~ExportFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace adjit::testing
