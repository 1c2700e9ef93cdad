// tests/jit/cache/store_size_test.cpp -- recency, eviction, limits, orphans.
#include <gtest/gtest.h>

#include "jit/cache/eviction.hpp"
#include "jit/cache/store.hpp"
#include "jit/cache/uses.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::in_child;
using test::read_file;
using test::sample_entry;
using test::sample_key;
using test::set_age;

using StoreSize = test::StoreTest;

TEST_F(StoreSize, AHitIsRecordedOutsideTheEntry) {
  seed();
  set_age(path, 1'000'000);
  const std::string bytes = read_file(path);
  {
    Store store(options());
    EXPECT_TRUE(store.load(sample_key()).entry);
    EXPECT_TRUE(store.load(sample_key()).entry);
  }
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  ASSERT_EQ(inventory.entries.size(), 1U);
  EXPECT_EQ(inventory.entries[0].uses, 2U);
  EXPECT_EQ(inventory.entries[0].written_unix_ms, 1'000'000);
  EXPECT_GT(inventory.entries[0].last_used_unix_ms, now_unix_ms() - 60'000);
  EXPECT_EQ(read_file(path), bytes);
}

TEST_F(StoreSize, TheLeastRecentlyUsedIsEvicted) {
  const size_t size = encode(sample_entry(sample_key("0"), 1000)).size();
  for (int k = 0; k < 9; ++k) {
    const Key key = sample_key(std::to_string(k));
    seed(sample_entry(key, 1000));
    set_age(scratch.entry(key), 1'000'000 + 1'000 * k);
  }
  StoreOptions bounded = options();
  bounded.max_bytes = 9 * size;
  {
    Store store(bounded);
    ASSERT_TRUE(store.load(sample_key("0")).entry);  // the oldest, used last
    store.save(sample_entry(sample_key("9"), 1000));
    store.flush();
    EXPECT_EQ(store.counts().evicted, 2U);  // to a tenth below the limit
  }
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("0"))));
  EXPECT_FALSE(std::filesystem::exists(scratch.entry(sample_key("1"))));
  EXPECT_FALSE(std::filesystem::exists(scratch.entry(sample_key("2"))));
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("3"))));
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("9"))));
}

TEST_F(StoreSize, TheDirectoryStaysBelowItsLimit) {
  StoreOptions bounded = options();
  bounded.max_bytes = 20'000;
  Store store(bounded);
  for (int k = 0; k < 100; ++k) store.save(sample_entry(sample_key(std::to_string(k)), 1000));
  store.flush();
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_LE(inventory.entry_bytes(), 20'000U);
  EXPECT_GE(inventory.entry_bytes(), 16'000U);
  EXPECT_EQ(store.counts().published, 100U);
  EXPECT_EQ(store.counts().evicted + inventory.entries.size(), 100U);
}

TEST_F(StoreSize, WhatOtherProcessesAddCountsToo) {
  StoreOptions bounded = options();
  bounded.max_bytes = 20'000;
  Store store(bounded);
  store.save(sample_entry(sample_key("first"), 1000));
  store.flush();
  StoreOptions unbounded = options();
  unbounded.max_bytes = 0;
  Store other(unbounded);
  for (int k = 0; k < 30; ++k) other.save(sample_entry(sample_key(std::to_string(k)), 1000));
  other.flush();
  for (int k = 0; k < 4; ++k) store.save(sample_entry(sample_key("a" + std::to_string(k)), 1000));
  store.flush();
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_LE(inventory.entry_bytes(), 20'000U);
  EXPECT_EQ(other.counts().evicted, 0U);
}

TEST_F(StoreSize, WhatExceedsALimitIsNotStored) {
  StoreOptions bounded = options();
  bounded.max_bytes = 2000;
  {
    Store store(bounded);
    store.save(sample_entry(sample_key("large"), 2000));
    store.save(sample_entry(sample_key("small"), 10));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.entry(sample_key("large"))));
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("small"))));
  bounded.max_queued_bytes = 100;
  {
    Store store(bounded);
    store.save(sample_entry(sample_key("queued"), 500));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.entry(sample_key("queued"))));
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreSize, OrphansAreSweptByTheFirstPublication) {
  class Crashing : public FileSystem {
    int rename_at(int, const char*, const char*) override { _exit(9); }
  } crashing;
  EXPECT_EQ(in_child([&] {
              StoreOptions with_fault = options();
              with_fault.files = &crashing;
              Store store(with_fault);
              store.save(sample_entry());
              store.flush();
              return 0;
            }),
            9);
  ASSERT_EQ(scratch.temporaries(), 1U);
  {
    Store store(options());
    EXPECT_EQ(store.load(sample_key()).miss_reason, "no entry");
    store.save(sample_entry());
  }
  EXPECT_EQ(scratch.temporaries(), 1U);  // too young to be an orphan for certain
  for (const std::string& name : scratch.names())
    if (name.starts_with(kTemporaryStem))
      set_age(scratch / name, now_unix_ms() - kOrphanAgeMs - 1000);
  Store(options()).save(sample_entry());
  EXPECT_EQ(scratch.temporaries(), 0U);
}

}  // namespace
}  // namespace adjit::cache
