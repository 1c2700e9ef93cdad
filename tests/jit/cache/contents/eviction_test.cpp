#include "jit/cache/contents/eviction.hpp"

#include <gtest/gtest.h>

#include "jit/cache/files/directory.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::Scratch;
using test::set_age;
using test::write_file;

EntryFile entry(uint64_t id, uint64_t size, int64_t last_used) {
  return {Signature{id, 0}, size, 0, last_used, 0};
}

std::vector<uint64_t> victims_of(const std::vector<EntryFile>& entries,
                                 const Retention& retention) {
  std::vector<uint64_t> ids;
  for (const EntryFile& victim : choose_victims(entries, retention)) ids.push_back(victim.id.high);
  return ids;
}

const std::vector<EntryFile> kEntries = {entry(1, 10, 400), entry(2, 20, 100), entry(3, 30, 300),
                                         entry(4, 40, 200)};

TEST(Eviction, TheLeastRecentlyUsedGoFirst) {
  EXPECT_EQ(victims_of(kEntries, {100, {}}), (std::vector<uint64_t>{}));
  EXPECT_EQ(victims_of(kEntries, {99, {}}), (std::vector<uint64_t>{2}));
  EXPECT_EQ(victims_of(kEntries, {80, {}}), (std::vector<uint64_t>{2}));
  EXPECT_EQ(victims_of(kEntries, {79, {}}), (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(victims_of(kEntries, {0, {}}), (std::vector<uint64_t>{2, 4, 3, 1}));
}

TEST(Eviction, TheUnusedGo) {
  EXPECT_EQ(victims_of(kEntries, {{}, 200}), (std::vector<uint64_t>{2}));
  EXPECT_EQ(victims_of(kEntries, {{}, 301}), (std::vector<uint64_t>{2, 4, 3}));
  EXPECT_EQ(victims_of(kEntries, {79, 150}), (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(victims_of(kEntries, {}), (std::vector<uint64_t>{}));
}

TEST(Eviction, TiesGoById) {
  EXPECT_EQ(victims_of({entry(9, 1, 5), entry(3, 1, 5), entry(7, 1, 5)}, {1, {}}),
            (std::vector<uint64_t>{3, 7}));
}

TEST(Eviction, RemovesEntriesAndCountsOnlyWhatWasThere) {
  const Scratch scratch;
  write_file(scratch / entry_name({1, 0}), "1");
  write_file(scratch / entry_name({2, 0}), "22");
  const std::vector<EntryFile> victims = {entry(2, 2, 0), entry(5, 7, 0)};
  const Removed removed = remove_entries(real_file_system(), scratch.open().number(), victims);
  EXPECT_EQ(removed.files, 1U);
  EXPECT_EQ(removed.bytes, 2U);
  EXPECT_EQ(removed.error, 0);
  EXPECT_EQ(scratch.names(), std::vector<std::string>{entry_name({1, 0})});
}

TEST(Eviction, ReportsWhatCannotBeRemoved) {
  class Stuck : public FileSystem {
    int unlink_at(int, const char*) override {
      errno = EROFS;
      return -1;
    }
  } stuck;
  EXPECT_EQ(remove_entries(stuck, -1, kEntries).error, EROFS);
}

TEST(Eviction, SweepsOldOrphansOnly) {
  const Scratch scratch;
  const std::string old_name = std::string(kTemporaryStem) + "old";
  const std::string new_name = std::string(kTemporaryStem) + "new";
  write_file(scratch / old_name, "12345");
  write_file(scratch / new_name, "1");
  const int64_t now = 10'000'000'000;
  set_age(scratch / old_name, now - kOrphanAgeMs - 1);
  set_age(scratch / new_name, now - kOrphanAgeMs + 1'000);
  Inventory inventory;
  ASSERT_EQ(take_inventory(real_file_system(), scratch.open().number(), inventory), 0);
  const Removed removed =
      sweep_temporaries(real_file_system(), scratch.open().number(), inventory, now - kOrphanAgeMs);
  EXPECT_EQ(removed.files, 1U);
  EXPECT_EQ(removed.bytes, 5U);
  EXPECT_EQ(scratch.names(), std::vector<std::string>{new_name});
}

}  // namespace
}  // namespace adjit::cache
