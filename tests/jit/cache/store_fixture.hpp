// tests/jit/cache/store_fixture.hpp -- a store on a scratch directory, and a log that remembers.
#pragma once

#include <gtest/gtest.h>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache::test {

class StoreTest : public ::testing::Test {
 protected:
  StoreOptions options() {
    StoreOptions options;
    options.directory = scratch.path();
    options.log = log.callback();
    return options;
  }
  /// One entry on the disk, put there by a store of its own.
  void seed(const Entry& entry = sample_entry()) {
    StoreOptions quiet;
    quiet.directory = scratch.path();
    Store(quiet).save(entry);
    ASSERT_TRUE(std::filesystem::exists(scratch.entry(entry.key)));
  }
  /// Loads once: a miss with this reason, after which the entry is gone, or still there.
  void expect_miss(const std::string& reason, bool deleted) {
    Store store(options());
    const Lookup found = store.load(sample_key());
    EXPECT_FALSE(found.entry);
    EXPECT_EQ(found.miss_reason, reason);
    EXPECT_EQ(std::filesystem::exists(std::filesystem::symlink_status(path)), !deleted);
    EXPECT_EQ(store.counts().misses, 1U);
    EXPECT_EQ(store.counts().deleted, deleted ? 1U : 0U);
    EXPECT_TRUE(log.at(Level::Warning).empty());
  }

  Scratch scratch;
  RememberingLog log;
  std::filesystem::path path = scratch.entry(sample_key());
};

}  // namespace adjit::cache::test
