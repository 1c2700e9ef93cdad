#include "jit/cache/files/replace_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::in_child;
using test::read_file;
using test::Scratch;
using test::write_file;

int replace(FileSystem& files, const Scratch& scratch, std::string_view bytes) {
  return replace_file(files, scratch.open().number(), "f", bytes);
}

TEST(ReplaceFile, MakesAndReplaces) {
  const Scratch scratch;
  EXPECT_EQ(replace(real_file_system(), scratch, "one"), 0);
  EXPECT_EQ(read_file(scratch / "f"), "one");
  EXPECT_EQ(replace(real_file_system(), scratch, ""), 0);
  EXPECT_EQ(read_file(scratch / "f"), "");
  EXPECT_EQ(scratch.names().size(), 1U);
  struct stat status{};
  ASSERT_EQ(stat((scratch / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0600U);
}

TEST(ReplaceFile, ReplacesALinkAndNotItsTarget) {
  const Scratch scratch;
  write_file(scratch / "target", "precious");
  std::filesystem::create_symlink(scratch / "target", scratch / "f");
  EXPECT_EQ(replace(real_file_system(), scratch, "new"), 0);
  EXPECT_EQ(read_file(scratch / "target"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(scratch / "f"));
}

TEST(ReplaceFile, EachStepThatFailsLeavesTheOldFileAndNothingElse) {
  class Failing : public FileSystem {
   public:
    std::string step;
    int open_at(int directory, const char* name, int flags, mode_t mode) override {
      return fails("open", EACCES) ? -1 : FileSystem::open_at(directory, name, flags, mode);
    }
    ssize_t write(int descriptor, const void* bytes, size_t) override {
      if (++writes > 1 && fails("write", ENOSPC)) return -1;
      return FileSystem::write(descriptor, bytes, 1);
    }
    int close(int descriptor) override {
      const int result = FileSystem::close(descriptor);
      return fails("close", EDQUOT) ? -1 : result;
    }
    int rename_at(int directory, const char* from, const char* to) override {
      return fails("rename", EROFS) ? -1 : FileSystem::rename_at(directory, from, to);
    }

   private:
    bool fails(const char* name, int error) {
      errno = error;
      return step == name;
    }
    int writes = 0;
  };
  const Scratch scratch;
  write_file(scratch / "f", "old");
  for (const auto& [step, error] :
       {std::pair("open", EACCES), {"write", ENOSPC}, {"close", EDQUOT}, {"rename", EROFS}}) {
    Failing failing;
    failing.step = step;
    EXPECT_EQ(replace(failing, scratch, "new"), error) << step;
    EXPECT_EQ(read_file(scratch / "f"), "old") << step;
    EXPECT_EQ(scratch.names().size(), 1U) << step;
  }
}

TEST(ReplaceFile, ACrashBeforeTheRenameLeavesTheOldFileAndAnOrphan) {
  class Crashing : public FileSystem {
    int rename_at(int, const char*, const char*) override { _exit(9); }
  };
  const Scratch scratch;
  write_file(scratch / "f", "old");
  EXPECT_EQ(in_child([&] {
              Crashing crashing;
              return replace(crashing, scratch, "new");
            }),
            9);
  EXPECT_EQ(read_file(scratch / "f"), "old");
  EXPECT_EQ(scratch.temporaries(), 1U);
}

}  // namespace
}  // namespace adjit::cache
