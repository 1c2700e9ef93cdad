#include "jit/cache/files/free_name.hpp"

#include <gtest/gtest.h>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::Scratch;
using test::write_file;

int freed(const Scratch& scratch, const char* name) {
  return free_name(real_file_system(), scratch.open().number(), name);
}

TEST(FreeName, RemovesFilesLinksAndEmptyDirectories) {
  const Scratch scratch;
  write_file(scratch / "file", "1");
  std::filesystem::create_symlink("nowhere", scratch / "link");
  std::filesystem::create_directory(scratch / "folder");
  ASSERT_EQ(mkfifo((scratch / "pipe").c_str(), 0600), 0);
  for (const char* name : {"file", "link", "folder", "pipe"}) EXPECT_EQ(freed(scratch, name), 0);
  EXPECT_TRUE(scratch.names().empty());
  EXPECT_EQ(freed(scratch, "file"), ENOENT);
}

TEST(FreeName, KeepsWhatADirectoryHoldsUnderAnotherName) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "folder");
  write_file(scratch / "folder" / "mine", "precious");
  EXPECT_EQ(freed(scratch, "folder"), 0);
  ASSERT_EQ(scratch.names().size(), 1U);
  const std::string aside = scratch.names()[0];
  EXPECT_TRUE(aside.starts_with(kSetAsideStem)) << aside;
  EXPECT_EQ(test::read_file(scratch / aside / "mine"), "precious");
}

TEST(FreeName, SaysWhyItCannot) {
  class ReadOnly : public FileSystem {
    int unlink_at(int, const char*) override {
      errno = EROFS;
      return -1;
    }
  } read_only;
  EXPECT_EQ(free_name(read_only, -1, "x"), EROFS);
}

}  // namespace
}  // namespace adjit::cache
