// tests/jit/cache/store_size_test.cpp -- recency, eviction, limits, orphans.
#include <gtest/gtest.h>

#include "jit/cache/contents/eviction.hpp"
#include "jit/cache/contents/uses.hpp"
#include "jit/cache/store.hpp"
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

// Each writes as fast as it can; none knows how many there are.
TEST_F(StoreSize, TheBoundHoldsWithManyWriters) {
  constexpr int kWriters = 24, kEntries = 30;
  StoreOptions bounded = options();
  bounded.log = {};
  const size_t size = encode(sample_entry(sample_key("0 0"), 4000)).size();
  bounded.max_bytes = 100 * size;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.push_back(test::start_child([&] {
      Store store(bounded);
      for (int k = 0; k < kEntries; ++k) {
        store.save(sample_entry(sample_key(std::to_string(w) + " " + std::to_string(k)), 4000));
        store.flush();
      }
      return store.counts().published == kEntries ? 0 : 1;
    }));
  uint64_t most = 0;
  for (size_t left = writers.size(); left > 0;) {
    Inventory inventory;
    take_inventory(real_file_system(), scratch.open().number(), inventory);
    most = std::max(most, inventory.entry_bytes() + inventory.temporary_bytes());
    int status = 0;
    while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
      EXPECT_EQ(status, 0);
      --left;
    }
    usleep(2000);
  }
  // At any time: the limit, and what each writer has under way.
  EXPECT_LE(most, bounded.max_bytes + 2 * kWriters * size);
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_LE(inventory.entry_bytes(), bounded.max_bytes);
  EXPECT_GE(inventory.entry_bytes(), bounded.max_bytes / 2) << "no more goes than must";
}

TEST_F(StoreSize, TemporariesOfKilledWritersCountAndGo) {
  const size_t size = encode(sample_entry(sample_key("0"), 1000)).size();
  StoreOptions bounded = options();
  bounded.max_bytes = 20 * size;
  for (int k = 0; k < 15; ++k) {
    const std::filesystem::path left = scratch / random_name(kTemporaryStem);
    test::write_file(left, std::string(size, 'x'));
    set_age(left, now_unix_ms() - kStuckAgeMs - 1000);
  }
  Store store(bounded);
  for (int k = 0; k < 10; ++k) store.save(sample_entry(sample_key(std::to_string(k)), 1000));
  store.flush();
  EXPECT_EQ(scratch.temporaries(), 0U);
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_EQ(inventory.entries.size(), 10U) << "they go first";
}

TEST_F(StoreSize, EntriesOfTheFutureAreEvictedLikeOthers) {
  const size_t size = encode(sample_entry(sample_key("0"), 1000)).size();
  for (int k = 0; k < 10; ++k) {
    const Key key = sample_key(std::to_string(k));
    seed(sample_entry(key, 1000));
    set_age(scratch.entry(key), now_unix_ms() + 86'400'000);
  }
  StoreOptions bounded = options();
  bounded.max_bytes = 10 * size;
  Store store(bounded);
  store.save(sample_entry(sample_key("n"), 1000));
  store.flush();
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("n"))));
  EXPECT_EQ(store.counts().evicted, 2U);
}

TEST_F(StoreSize, DirectoriesInPlaceOfEntriesAreEvicted) {
  const size_t size = encode(sample_entry(sample_key("0"), 1000)).size();
  for (int k = 0; k < 12; ++k)
    std::filesystem::create_directory(scratch.entry(sample_key(std::to_string(k))));
  StoreOptions bounded = options();
  bounded.max_bytes = 4 * size;  // directories count with the 4 KiB that they say
  Store store(bounded);
  store.save(sample_entry(sample_key("now"), 1000));
  store.flush();
  EXPECT_TRUE(std::filesystem::exists(scratch.entry(sample_key("now"))));
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_LE(inventory.entry_bytes(), bounded.max_bytes);
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
