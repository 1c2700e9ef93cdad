// tests/runtime/process/scratch_folder_test.cpp -- a folder for files that programs exchange.
#include "runtime/process/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <system_error>

namespace adjit::process {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsGoneWithWhatIsInIt) {
  fs::path file;
  {
    const ScratchFolder folder(testing::TempDir(), "scratch");
    file = folder / "file";
    std::ofstream(file) << "text";
    EXPECT_TRUE(fs::exists(file));
    EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(file.parent_path()));
}

TEST(ScratchFolder, TwoAreApart) {
  const ScratchFolder one(testing::TempDir(), "scratch"), other(testing::TempDir(), "scratch");
  EXPECT_NE(one / "file", other / "file");
}

TEST(ScratchFolder, WhereNoneCanBeMadeThereIsAReason) {
  try {
    const ScratchFolder folder("/proc", "scratch");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/scratch-"), std::string::npos);
  }
}

}  // namespace
}  // namespace adjit::process
