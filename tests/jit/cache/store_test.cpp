// tests/jit/cache/store_test.cpp -- what is saved is found, and why what is not found is not.
#include <gtest/gtest.h>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::sample_entry;
using test::sample_key;

using test::StoreTest;

TEST_F(StoreTest, WhatIsSavedIsFoundByAnotherStore) {
  {
    Store store(options());
    EXPECT_EQ(store.load(sample_key()).miss_reason, "no entry");
    store.save(sample_entry());
  }
  Store store(options());
  const Lookup found = store.load(sample_key());
  ASSERT_TRUE(found.entry);
  EXPECT_EQ(*found.entry, sample_entry());
  EXPECT_EQ(found.miss_reason, "");
  EXPECT_EQ(store.counts().hits, 1U);
  EXPECT_FALSE(store.load(sample_key("another graph")).entry);
  EXPECT_EQ(store.counts().misses, 1U);
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreTest, FlushPublishes) {
  Store store(options());
  store.save(sample_entry());
  store.flush();
  EXPECT_TRUE(store.load(sample_key()).entry);
  EXPECT_EQ(store.counts().published, 1U);
  EXPECT_EQ(scratch.temporaries(), 0U);
}

TEST_F(StoreTest, TheDirectoryIsMadePrivateWhenItIsFirstWritten) {
  StoreOptions below = options();
  below.directory = scratch / "cache" / "adjit";
  Store store(below);
  EXPECT_FALSE(store.load(sample_key()).entry);
  EXPECT_FALSE(std::filesystem::exists(below.directory));
  store.save(sample_entry());
  store.flush();
  EXPECT_TRUE(store.load(sample_key()).entry);
  // And again, when somebody clears it away.
  std::filesystem::remove_all(scratch / "cache");
  EXPECT_EQ(store.load(sample_key()).miss_reason, "no entry");
  store.save(sample_entry());
  store.flush();
  EXPECT_TRUE(store.load(sample_key()).entry);
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreTest, OffTouchesNothing) {
  seed();
  const size_t files = scratch.names().size();
  StoreOptions off = options();
  off.mode = Mode::Off;
  Store store(off);
  EXPECT_EQ(store.load(sample_key()).miss_reason, "the cache is off");
  store.save(sample_entry(sample_key("new")));
  store.flush();
  EXPECT_EQ(scratch.names().size(), files);
}

TEST_F(StoreTest, ExplainsAMiss) {
  Store store(options());
  EXPECT_EQ(store.explain(sample_key()), "no entry is like it");
  store.save(sample_entry());
  store.flush();
  Key other = sample_key();
  other.components[2].value = "20.1.0";
  EXPECT_EQ(store.explain(other),
            "'llvm' differs from entry " + to_hex(signature_of(sample_key())).substr(0, 8));
}

}  // namespace
}  // namespace adjit::cache
