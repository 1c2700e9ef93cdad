// tests/jit/cache/store_writer_test.cpp -- what is published is there, counted, and within the
// limit.
#include "jit/cache/store_writer.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "jit/cache/contents/inventory.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::sample_entry;
using test::sample_key;

using StoreWriterTest = test::StoreTest;

TEST_F(StoreWriterTest, MakesTheDirectoryThatIsAbsent) {
  StoreOptions absent = options();
  absent.directory = scratch / "made";
  StoreState state{absent};
  StoreWriter writer(state);
  writer.publish(sample_entry());
  EXPECT_EQ(state.counters.published, 1U);
  EXPECT_TRUE(std::filesystem::exists(absent.directory / entry_name(signature_of(sample_key()))));
}

TEST_F(StoreWriterTest, NotesUses) {
  seed();
  StoreState state{options()};
  StoreWriter writer(state);
  for (int k = 0; k < 3; ++k) writer.record_use(signature_of(sample_key()));
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  ASSERT_EQ(inventory.entries.size(), 1U);
  EXPECT_EQ(inventory.entries[0].uses, 3U);
}

TEST_F(StoreWriterTest, EvictsWhatExceedsTheLimit) {
  StoreOptions bounded = options();
  bounded.max_bytes = 4 * encode(sample_entry(sample_key("0"), 1000)).size();
  StoreState state{bounded};
  StoreWriter writer(state);
  for (int k = 0; k < 9; ++k) writer.publish(sample_entry(sample_key(std::to_string(k)), 1000));
  EXPECT_EQ(state.counters.published, 9U);
  EXPECT_GE(state.counters.evicted, 5U);
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  EXPECT_LE(inventory.entry_bytes(), bounded.max_bytes);
}

TEST_F(StoreWriterTest, WritesNothingMoreOnceTheDiskIsFull) {
  class Full : public FileSystem {
    ssize_t write(int, const void*, size_t) override {
      errno = ENOSPC;
      return -1;
    }
  } full;
  StoreOptions with_fault = options();
  with_fault.files = &full;
  StoreState state{with_fault};
  StoreWriter writer(state);
  for (int k = 0; k < 3; ++k) writer.publish(sample_entry());
  EXPECT_TRUE(state.latched);
  EXPECT_EQ(state.counters.published, 0U);
  EXPECT_EQ(log.at(Level::Warning).size(), 1U);
}

}  // namespace
}  // namespace adjit::cache
