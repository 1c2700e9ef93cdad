// tests/jit/cache/store_disk_test.cpp -- faults of the disk delete nothing and end in one warning.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::in_child;
using test::RememberingLog;
using test::sample_entry;
using test::sample_key;

using StoreDisk = test::StoreTest;

TEST_F(StoreDisk, AReadErrorDeletesNothing) {
  class Broken : public FileSystem {
    ssize_t read(int, void*, size_t) override {
      errno = EIO;
      return -1;
    }
  } broken;
  seed();
  StoreOptions with_fault = options();
  with_fault.files = &broken;
  Store store(with_fault);
  EXPECT_EQ(store.load(sample_key()).miss_reason, "cannot be read: Input/output error");
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(store.writable());
}

/// Fails every write to a file with one errno.
class Full : public FileSystem {
 public:
  explicit Full(int error) : error_(error) {}
  ssize_t write(int, const void*, size_t) override {
    ++attempts;
    errno = error_;
    return -1;
  }
  std::atomic<int> attempts{0};

 private:
  int error_;
};

TEST_F(StoreDisk, AFullDiskEndsWritingWithOneWarning) {
  seed();
  for (int error : {ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EFBIG}) {
    Full full(error);
    RememberingLog its_log;
    StoreOptions with_fault = options();
    with_fault.files = &full;
    with_fault.log = its_log.callback();
    Store store(with_fault);
    for (int k = 0; k < 5; ++k) {
      store.save(sample_entry(sample_key(std::to_string(k))));
      store.flush();
    }
    EXPECT_EQ(full.attempts, 1) << error;
    EXPECT_FALSE(store.writable());
    ASSERT_EQ(its_log.at(Level::Warning).size(), 1U) << error;
    EXPECT_NE(its_log.at(Level::Warning)[0].find("read only from now on"), std::string::npos);
    EXPECT_TRUE(store.load(sample_key()).entry);  // what is there still serves
    EXPECT_EQ(scratch.temporaries(), 0U);
  }
}

TEST_F(StoreDisk, APassingErrorDoesNotEndWriting) {
  Full interrupted(EIO);
  StoreOptions with_fault = options();
  with_fault.files = &interrupted;
  Store store(with_fault);
  for (int k = 0; k < 3; ++k) store.save(sample_entry());
  store.flush();
  EXPECT_EQ(interrupted.attempts, 3);
  EXPECT_TRUE(store.writable());
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreDisk, AFileSizeLimitKillsNobody) {
  EXPECT_EQ(in_child([&] {
              const rlimit limit{1000, 1000};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              Store store(options());
              store.save(sample_entry(sample_key(), 5000));
              store.flush();
              return store.writable() ? 2 : static_cast<int>(log.at(Level::Warning).size()) + 10;
            }),
            11);
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace adjit::cache
