#include "jit/cache/files/file_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::read_file;
using test::Scratch;
using test::write_file;

/// One byte a call, and every other call interrupted.
class Slow : public FileSystem {
 public:
  ssize_t read(int descriptor, void* bytes, size_t size) override {
    if (interrupted()) return -1;
    return FileSystem::read(descriptor, bytes, std::min<size_t>(size, 1));
  }
  ssize_t write(int descriptor, const void* bytes, size_t size) override {
    if (interrupted()) return -1;
    return FileSystem::write(descriptor, bytes, std::min<size_t>(size, 1));
  }

 private:
  bool interrupted() {
    errno = EINTR;
    return ++calls_ % 2 == 0;
  }
  int calls_ = 0;
};

TEST(FileSystem, ReadsAndWritesThroughShortAndInterruptedCalls) {
  const Scratch scratch;
  const std::string text = "every byte of this";
  Slow slow;
  Descriptor out(slow, ::open((scratch / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(write_all(slow, out.number(), text), 0);
  EXPECT_EQ(out.reset(), 0);
  EXPECT_EQ(read_file(scratch / "f"), text);

  const Descriptor in(slow, ::open((scratch / "f").c_str(), O_RDONLY | O_CLOEXEC));
  std::string read;
  EXPECT_EQ(read_all(slow, in.number(), text.size() + 100, read), 0);
  EXPECT_EQ(read, text);
}

TEST(FileSystem, ReportsWhatFails) {
  const Scratch scratch;
  write_file(scratch / "f", "text");
  const Descriptor in(real_file_system(), ::open((scratch / "f").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(write_all(real_file_system(), in.number(), "x"), EBADF);
  const Descriptor directory = scratch.open();
  std::string read;
  EXPECT_EQ(read_all(real_file_system(), directory.number(), 10, read), EISDIR);
}

TEST(FileSystem, AWriteWithoutProgressIsAnErrorAndNoLoop) {
  class Stuck : public FileSystem {
    ssize_t write(int, const void*, size_t) override { return 0; }
  } stuck;
  EXPECT_EQ(write_all(stuck, 1, "x"), EIO);
}

TEST(FileSystem, ListsNamesTwiceFromOneDescriptor) {
  const Scratch scratch;
  write_file(scratch / "b", "");
  write_file(scratch / ".a", "");
  const Descriptor directory = scratch.open();
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::string> names;
    ASSERT_EQ(real_file_system().list(directory.number(), names), 0);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
              (std::set<std::string>{".a", "b"}));
  }
}

TEST(FileSystem, DescriptorsCloseOnce) {
  class Counting : public FileSystem {
   public:
    int closed = 0;
    int close(int) override { return ++closed, 0; }
  } counting;
  {
    Descriptor a(counting, 1000);
    Descriptor b(std::move(a));
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): a moved-from descriptor is empty
    EXPECT_TRUE(b);
    Descriptor c;
    c = std::move(b);
    EXPECT_EQ(counting.closed, 0);
    c = Descriptor(counting, 1001);
    EXPECT_EQ(counting.closed, 1);
  }
  EXPECT_EQ(counting.closed, 2);
}

TEST(FileSystem, RandomNamesDiffer) {
  std::set<std::string> names;
  for (int k = 0; k < 1000; ++k) names.insert(random_name("x-"));
  EXPECT_EQ(names.size(), 1000U);
  EXPECT_EQ(names.begin()->size(), 18U);
}

}  // namespace
}  // namespace adjit::cache
