// tests/jit/cache/store_directory_test.cpp -- directories that will not do, and the shared one.
#include <gtest/gtest.h>

#include <cerrno>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::read_file;
using test::RememberingLog;
using test::sample_entry;
using test::sample_key;
using test::Scratch;
using test::write_file;

using StoreDirectory = test::StoreTest;

TEST_F(StoreDirectory, AnOpenDirectoryIsRefusedWithOneWarning) {
  seed();
  for (mode_t mode : {0755U, 0777U}) {
    RememberingLog its_log;
    ASSERT_EQ(chmod(scratch.path().c_str(), mode), 0);
    StoreOptions its_options = options();
    its_options.log = its_log.callback();
    Store store(its_options);
    for (int k = 0; k < 3; ++k) {
      EXPECT_FALSE(store.load(sample_key()).entry);
      store.save(sample_entry(sample_key("new")));
      store.flush();
    }
    ASSERT_EQ(its_log.at(Level::Warning).size(), 1U);
    EXPECT_NE(its_log.at(Level::Warning)[0].find("chmod 700"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(scratch.entry(sample_key("new"))));
    // The remedy works at once.
    ASSERT_EQ(chmod(scratch.path().c_str(), 0700), 0);
    EXPECT_TRUE(store.load(sample_key()).entry);
  }
}

TEST_F(StoreDirectory, NoDirectoryAtAllIsOneWarning) {
  StoreOptions nowhere = options();
  nowhere.directory.clear();
  Store store(nowhere);
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(store.load(sample_key()).entry);
    store.save(sample_entry());
    store.flush();
  }
  ASSERT_EQ(log.at(Level::Warning).size(), 1U);
  EXPECT_NE(log.at(Level::Warning)[0].find("ADJIT_CACHE_DIR"), std::string::npos);
}

TEST_F(StoreDirectory, ADirectoryThatCannotBeMadeIsOneWarning) {
  write_file(scratch / "file", "in the way");
  for (const char* name : {"file", "file/below"}) {
    RememberingLog its_log;
    StoreOptions blocked = options();
    blocked.directory = scratch / name;
    blocked.log = its_log.callback();
    Store store(blocked);
    for (int k = 0; k < 3; ++k) {
      EXPECT_FALSE(store.load(sample_key()).entry);
      store.save(sample_entry());
      store.flush();
    }
    EXPECT_EQ(its_log.at(Level::Warning).size(), 1U) << name;
  }
  EXPECT_EQ(read_file(scratch / "file"), "in the way");
}

TEST_F(StoreDirectory, AReadOnlyFileSystemIsOneWarning) {
  class ReadOnlyDisk : public FileSystem {
    int make_directory(const char*, mode_t) override {
      errno = EROFS;
      return -1;
    }
  } disk;
  StoreOptions blocked = options();
  blocked.directory = scratch / "never";
  blocked.files = &disk;
  Store store(blocked);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(store.load(sample_key()).miss_reason, "no entry");
    store.save(sample_entry());
    store.flush();
  }
  ASSERT_EQ(log.at(Level::Warning).size(), 1U);
  EXPECT_NE(log.at(Level::Warning)[0].find("Read-only file system"), std::string::npos);
  EXPECT_FALSE(store.writable());
}

TEST_F(StoreDirectory, TheSharedDirectoryIsReadSecondAndNeverWritten) {
  seed();
  const size_t files = scratch.names().size();
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  const Scratch own;
  StoreOptions both = options();
  both.directory = own.path();
  both.shared_directory = scratch.path();
  {
    Store store(both);
    ASSERT_TRUE(store.load(sample_key()).entry);
    EXPECT_EQ(store.counts().hits, 1U);
    write_file(path, "damaged");
    EXPECT_FALSE(store.load(sample_key()).entry);
  }
  EXPECT_EQ(read_file(path), "damaged");
  EXPECT_EQ(scratch.names().size(), files);
  EXPECT_TRUE(own.names().empty());
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreDirectory, ASharedDirectoryThatOthersWriteIsRefused) {
  seed();
  ASSERT_EQ(chmod(scratch.path().c_str(), 0775), 0);
  const Scratch own;
  StoreOptions both = options();
  both.directory = own.path();
  both.shared_directory = scratch.path();
  Store store(both);
  EXPECT_FALSE(store.load(sample_key()).entry);
  EXPECT_FALSE(store.load(sample_key()).entry);
  ASSERT_EQ(log.at(Level::Warning).size(), 1U);
  EXPECT_NE(log.at(Level::Warning)[0].find("chmod go-w"), std::string::npos);
}

}  // namespace
}  // namespace adjit::cache
