// tests/jit/engine/export_folder.hpp -- a folder for a library, which goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/rooms.hpp"

namespace adjit::testing {

class ExportFolder {
 public:
  ExportFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjit-export-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path = pattern;
  }
  ~ExportFolder() { std::filesystem::remove_all(path); }
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace adjit::testing
