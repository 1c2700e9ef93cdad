#include "jit/cache/contents/inventory.hpp"

#include <gtest/gtest.h>

#include "jit/cache/contents/uses.hpp"
#include "jit/cache/files/directory.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::Scratch;
using test::set_age;
using test::write_file;

TEST(Inventory, SortsWhatLiesThere) {
  const Scratch scratch;
  const Descriptor directory = scratch.open();
  const Signature first{1, 0};
  const Signature second{2, 0};
  write_file(scratch / entry_name(second), "22");
  write_file(scratch / entry_name(first), "1");
  write_file(scratch / (std::string(kTemporaryStem) + "0123456789abcdef"), "333");
  write_file(scratch / "notes.txt", "");
  set_age(scratch / entry_name(first), 5'000);
  set_age(scratch / entry_name(second), 7'250);
  uint64_t size = 0;
  ASSERT_EQ(append_use(real_file_system(), directory.number(), first, 9'000, size), 0);
  ASSERT_EQ(append_use(real_file_system(), directory.number(), second, 6'000, size), 0);

  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), directory.number(), inventory), 0);
  ASSERT_EQ(inventory.entries.size(), 2U);
  EXPECT_EQ(inventory.entries[0].id, first);
  EXPECT_EQ(inventory.entries[0].size, 1U);
  EXPECT_EQ(inventory.entries[0].written_unix_ms, 5'000);
  EXPECT_EQ(inventory.entries[0].last_used_unix_ms, 9'000);
  EXPECT_EQ(inventory.entries[0].uses, 1U);
  EXPECT_EQ(inventory.entries[1].last_used_unix_ms, 7'250);  // used before it was written again
  EXPECT_EQ(inventory.entry_bytes(), 3U);
  ASSERT_EQ(inventory.temporaries.size(), 1U);
  EXPECT_EQ(inventory.temporaries[0].size, 3U);
  EXPECT_EQ(inventory.strangers, std::vector<std::string>{"notes.txt"});
}

// A clock was wrong: such entries are not kept for ever.
TEST(Inventory, TimesThatAreStillToComeSayNothing) {
  const Scratch scratch;
  const Descriptor directory = scratch.open();
  const int64_t now = 1'700'000'000'000, tomorrow = now + 86'400'000;
  const Signature written{1, 0}, used{2, 0}, skewed{3, 0};
  for (const Signature& id : {written, used, skewed}) write_file(scratch / entry_name(id), "1");
  write_file(scratch / (std::string(kTemporaryStem) + "0123456789abcdef"), "333");
  set_age(scratch / entry_name(written), tomorrow);
  set_age(scratch / entry_name(used), now - 5'000);
  set_age(scratch / entry_name(skewed), now + 2'000);
  set_age(scratch / (std::string(kTemporaryStem) + "0123456789abcdef"), tomorrow);
  uint64_t size = 0;
  ASSERT_EQ(append_use(real_file_system(), directory.number(), used, tomorrow, size), 0);
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), directory.number(), inventory, now), 0);
  ASSERT_EQ(inventory.entries.size(), 3U);
  EXPECT_EQ(inventory.entries[0].last_used_unix_ms, 0);
  EXPECT_EQ(inventory.entries[0].written_unix_ms, tomorrow) << "shown as it is";
  EXPECT_EQ(inventory.entries[1].last_used_unix_ms, now - 5'000);
  EXPECT_EQ(inventory.entries[2].last_used_unix_ms, now + 2'000) << "clocks differ a little";
  EXPECT_EQ(inventory.temporaries.at(0).written_unix_ms, 0);
  EXPECT_EQ(inventory.temporary_bytes(), 3U);
}

TEST(Inventory, ReportsADirectoryThatCannotBeRead) {
  Inventory inventory;
  EXPECT_EQ(take_inventory(real_file_system(), -1, inventory), EBADF);
}

}  // namespace
}  // namespace adjit::cache
