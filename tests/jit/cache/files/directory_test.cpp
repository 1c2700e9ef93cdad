#include "jit/cache/files/directory.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::Scratch;
using test::write_file;

/// Somebody else's process: everything on the disk belongs to another user.
class Stranger : public FileSystem {
 public:
  uid_t user() override { return FileSystem::user() + 4321; }
};

Directory open_private(const std::filesystem::path& path) {
  return open_directory(real_file_system(), path, Sharing::Private);
}
Directory open_shared(const std::filesystem::path& path) {
  return open_directory(real_file_system(), path, Sharing::Shared);
}

TEST(Directory, OpensAPrivateOne) {
  const Scratch scratch;
  const Directory directory = open_private(scratch.path());
  EXPECT_TRUE(directory);
  EXPECT_EQ(directory.refusal, "");
  EXPECT_FALSE(directory.absent);
  EXPECT_NE(fcntl(directory.descriptor.number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Directory, AbsentIsNoFault) {
  const Scratch scratch;
  const Directory directory = open_private(scratch / "none");
  EXPECT_FALSE(directory);
  EXPECT_TRUE(directory.absent);
  EXPECT_EQ(directory.refusal, "");
}

TEST(Directory, NoNameNamesTheVariables) {
  const Directory directory = open_private({});
  EXPECT_FALSE(directory);
  EXPECT_FALSE(directory.absent);
  EXPECT_NE(directory.refusal.find("ADJIT_CACHE_DIR"), std::string::npos);
}

TEST(Directory, AFileInItsPlaceIsRefused) {
  const Scratch scratch;
  write_file(scratch / "file", "");
  const Directory directory = open_private(scratch / "file");
  EXPECT_FALSE(directory);
  EXPECT_FALSE(directory.absent);
  EXPECT_NE(directory.refusal.find("Not a directory"), std::string::npos);
}

TEST(Directory, PrivateMeansNobodyElse) {
  const Scratch scratch;
  for (mode_t mode : {0701U, 0704U, 0710U, 0740U, 0755U, 0770U, 0777U, 01777U}) {
    ASSERT_EQ(chmod(scratch.path().c_str(), mode), 0);
    const Directory directory = open_private(scratch.path());
    EXPECT_FALSE(directory) << std::oct << mode;
    EXPECT_NE(directory.refusal.find("chmod 700 '" + scratch.path().string() + "'"),
              std::string::npos)
        << directory.refusal;
  }
  ASSERT_EQ(chmod(scratch.path().c_str(), 0700), 0);
  EXPECT_TRUE(open_private(scratch.path()));
}

// What is open on purpose, as /tmp is, is not to be closed to others.
TEST(Directory, OthersFilesAreNoCacheThatWasOpenedByMistake) {
  const Scratch scratch;
  write_file(scratch / "notes.txt", "");
  for (const auto& [mode, open] :
       std::vector<std::pair<mode_t, Directory (*)(const std::filesystem::path&)>>{
           {01777U, [](const std::filesystem::path& path) { return open_private(path); }},
           {0777U, [](const std::filesystem::path& path) { return open_shared(path); }}}) {
    ASSERT_EQ(chmod(scratch.path().c_str(), mode), 0);
    const Directory directory = open(scratch.path());
    EXPECT_FALSE(directory);
    EXPECT_EQ(directory.refusal.find("chmod"), std::string::npos) << directory.refusal;
    EXPECT_NE(directory.refusal.find("a directory of its own"), std::string::npos);
  }
}

TEST(Directory, SharedMeansNobodyElseWrites) {
  const Scratch scratch;
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  EXPECT_TRUE(open_shared(scratch.path()));
  for (mode_t mode : {0775U, 0757U, 01777U}) {
    ASSERT_EQ(chmod(scratch.path().c_str(), mode), 0);
    const Directory directory = open_shared(scratch.path());
    EXPECT_FALSE(directory) << std::oct << mode;
    EXPECT_NE(directory.refusal.find("chmod go-w"), std::string::npos);
  }
}

TEST(Directory, AnothersIsRefused) {
  const Scratch scratch;
  Stranger stranger;
  const Directory directory = open_directory(stranger, scratch.path(), Sharing::Private);
  EXPECT_FALSE(directory);
  EXPECT_NE(directory.refusal.find("belongs to user"), std::string::npos);
  // Root's may be shared.
  const bool ours_is_roots = geteuid() == 0;
  EXPECT_EQ(static_cast<bool>(open_directory(stranger, scratch.path(), Sharing::Shared)),
            ours_is_roots);
}

TEST(Directory, MakesParentsPrivateToo) {
  const Scratch scratch;
  const auto path = scratch / "a" / "b" / "c";
  EXPECT_EQ(make_directories(real_file_system(), path), 0);
  EXPECT_EQ(make_directories(real_file_system(), path), 0);
  EXPECT_EQ(make_directories(real_file_system(), path / ""), 0);
  EXPECT_TRUE(open_private(path));
  EXPECT_TRUE(open_private(scratch / "a"));
}

TEST(Directory, SaysWhyItCannotBeMade) {
  const Scratch scratch;
  write_file(scratch / "file", "");
  EXPECT_EQ(make_directories(real_file_system(), scratch / "file" / "below"), ENOTDIR);
}

// A home on a read-only mount: its parents exist, what lies in it cannot be made.
TEST(Directory, TheReasonIsThatOfTheParentThatCannotBeMade) {
  class ReadOnlyHome : public FileSystem {
    int make_directory(const char* path, mode_t) override {
      errno = std::string_view(path) == "/home"          ? EACCES
              : std::string_view(path) == "/home/me"     ? EEXIST
              : std::string_view(path) == "/home/me/low" ? EROFS
                                                         : ENOENT;
      return -1;
    }
  } home;
  EXPECT_EQ(make_directories(home, "/home/me/low"), EROFS);
  EXPECT_EQ(make_directories(home, "/home/me"), 0);
}

TEST(Directory, AReadOnlyHomeIsNamedAsSuch) {
  class ReadOnlyHome : public FileSystem {
    int make_directory(const char* path, mode_t) override {
      errno = std::string_view(path) == "/home" || std::string_view(path) == "/home/me" ? EEXIST
              : std::string_view(path) == "/home/me/.cache"                             ? EROFS
                                                                                        : ENOENT;
      return -1;
    }
  } home;
  EXPECT_EQ(make_directories(home, "/home/me/.cache/adjit"), EROFS);
}

TEST(Directory, RefusesFilesThatOthersControl) {
  const Scratch scratch;
  struct stat status{};
  write_file(scratch / "f", "x");
  ASSERT_EQ(stat((scratch / "f").c_str(), &status), 0);
  EXPECT_EQ(refuse_file(real_file_system(), status, Sharing::Private), "");
  Stranger stranger;
  EXPECT_NE(refuse_file(stranger, status, Sharing::Private), "");
  status.st_mode = S_IFREG | 0644;
  EXPECT_EQ(refuse_file(real_file_system(), status, Sharing::Private), "");
  for (mode_t mode : {S_IFREG | 0660U, S_IFREG | 0606U}) {
    status.st_mode = mode;
    EXPECT_EQ(refuse_file(real_file_system(), status, Sharing::Private), "writable by other users");
    EXPECT_EQ(refuse_file(real_file_system(), status, Sharing::Shared), "writable by other users");
  }
  for (mode_t mode : {S_IFIFO | 0600U, S_IFDIR | 0700U, S_IFSOCK | 0600U, S_IFCHR | 0600U}) {
    status.st_mode = mode;
    EXPECT_EQ(refuse_file(real_file_system(), status, Sharing::Private), "not a regular file");
  }
}

TEST(Directory, NamesRoundTrip) {
  const Signature id{1, 2};
  EXPECT_EQ(entry_name(id), "00000000000000010000000000000002.entry");
  EXPECT_EQ(id_of_entry_name(entry_name(id)), id);
  EXPECT_EQ(id_of_entry_name("00000000000000010000000000000002"), std::nullopt);
  EXPECT_EQ(id_of_entry_name(".entry"), std::nullopt);
  EXPECT_EQ(id_of_entry_name("x0000000000000010000000000000002.entry"), std::nullopt);
}

}  // namespace
}  // namespace adjit::cache
