#include "jit/cache/contents/eviction.hpp"
#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

using MaintainTest = test::FilledShelf;

TEST_F(MaintainTest, VerifyNamesTheDamagedAndDeletesNothing) {
  add("a");
  EXPECT_EQ(printed([&](std::ostream& out) { return verify(shelf(), out); }),
            "1 entry, 0 damaged\n");
  const std::string id = add("b");
  std::string bytes = cache::test::read_file(scratch / (id + ".entry"));
  bytes[60] = static_cast<char>(bytes[60] ^ 1);
  cache::test::write_file(scratch / (id + ".entry"), bytes);
  EXPECT_EQ(printed([&](std::ostream& out) { return verify(shelf(), out); }, ExitCode::Findings),
            id + "  checksum does not match\n2 entries, 1 damaged\n");
  EXPECT_EQ(shelf().inventory.entries.size(), 2U);
}

TEST_F(MaintainTest, PruneBySize) {
  const std::string old_id = add("a", 1000, 1'000);
  const std::string used_id = add("b", 1000, 2'000);
  const std::string new_id = add("c", 1000, 3'000);
  use(used_id, 1, 9'000);
  const uint64_t one = shelf().inventory.entries[0].size;
  const std::string text =
      printed([&](std::ostream& out) { return prune(shelf(), {2 * one, {}}, true, out); });
  EXPECT_TRUE(contains(text, old_id)) << text;
  EXPECT_TRUE(contains(text, "would remove 1 entry, ")) << text;
  EXPECT_EQ(shelf().inventory.entries.size(), 3U);
  printed([&](std::ostream& out) { return prune(shelf(), {2 * one, {}}, false, out); });
  EXPECT_FALSE(std::filesystem::exists(scratch / (old_id + ".entry")));
  printed([&](std::ostream& out) { return prune(shelf(), {one, {}}, false, out); });
  EXPECT_FALSE(std::filesystem::exists(scratch / (new_id + ".entry")));
  EXPECT_EQ(shelf().inventory.entries.at(0).uses, 1U);
}

TEST_F(MaintainTest, PruneByAge) {
  const int64_t now = cache::now_unix_ms();
  const std::string old_id = add("a", 10, now - 100'000);
  add("b", 10, now - 50'000);
  const std::string orphan = std::string(cache::kTemporaryStem) + "x";
  cache::test::write_file(scratch / orphan, "");
  cache::test::set_age(scratch / orphan, now - cache::kOrphanAgeMs - 1'000);
  printed([&](std::ostream& out) { return prune(shelf(), {{}, 75'000}, false, out); });
  EXPECT_EQ(shelf().inventory.entries.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(scratch / (old_id + ".entry")));
  EXPECT_EQ(scratch.temporaries(), 0U);
}

TEST_F(MaintainTest, ClearRemovesWhatIsOursOnly) {
  use(add("a"));
  add("b");
  cache::test::write_file(scratch / "notes.txt", "mine");
  EXPECT_TRUE(contains(printed([&](std::ostream& out) { return clear(shelf(), out); }),
                       "removed 2 entries, "));
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"notes.txt"});
}

TEST_F(MaintainTest, ClearTakesTemporariesAndWhatIsInPlaceOfEntries) {
  const std::string id = add("a");
  std::filesystem::remove(scratch / (id + ".entry"));
  std::filesystem::create_directory(scratch / (id + ".entry"));
  cache::test::write_file(scratch / cache::random_name(cache::kTemporaryStem), "just begun");
  cache::test::write_file(scratch / cache::kPublishedName, "12345678");
  printed([&](std::ostream& out) { return clear(shelf(), out); });
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace adjit::cache_tool
