#include "tools/adjit-cache/shelf.hpp"

#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

using ShelfTest = test::FilledShelf;

cache::EntryFile file(uint64_t high) { return {cache::Signature{high, 0}, 0, 0, 0, 0}; }

Shelf shelf_of(std::initializer_list<uint64_t> ids) {
  Shelf shelf;
  for (uint64_t id : ids) shelf.inventory.entries.push_back(file(id));
  return shelf;
}

TEST_F(ShelfTest, ResolvesAbbreviations) {
  const Shelf shelf = shelf_of({0x1234000000000000, 0x1234500000000000, 0xabcd000000000000});
  EXPECT_EQ(resolve(shelf, "abcd").id.high, 0xabcd000000000000);
  EXPECT_EQ(resolve(shelf, "12345").id.high, 0x1234500000000000);
  EXPECT_EQ(resolve(shelf, "abcd0000000000000000000000000000").id.high, 0xabcd000000000000);
  const std::string ambiguous = failure(ExitCode::Usage, [&] { resolve(shelf, "1234"); });
  EXPECT_TRUE(contains(ambiguous, "12340000")) << ambiguous;
  EXPECT_TRUE(contains(ambiguous, "12345000")) << ambiguous;
  EXPECT_TRUE(contains(failure(ExitCode::Usage, [&] { resolve(shelf, "abc"); }), "too short"));
  EXPECT_TRUE(contains(failure(ExitCode::Usage, [&] { resolve(shelf, "ffff"); }), "no entry"));
}

TEST_F(ShelfTest, AbbreviatesAsFarAsIsUnique) {
  const Shelf shelf = shelf_of({0x1234567890000000, 0x1234567891000000, 0xabcd000000000000});
  EXPECT_EQ(abbreviate(shelf, {0xabcd000000000000, 0}), "abcd0000");
  EXPECT_EQ(abbreviate(shelf, {0x1234567891000000, 0}), "1234567891");
}

TEST_F(ShelfTest, AnAbsentDirectoryIsEmpty) {
  const Shelf shelf = open_shelf(scratch / "none");
  EXPECT_TRUE(shelf.inventory.entries.empty());
}

TEST_F(ShelfTest, ARefusedDirectoryIsAnError) {
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  EXPECT_TRUE(contains(failure(ExitCode::Io, [&] { shelf(); }), "chmod 700"));
}

TEST_F(ShelfTest, TakesEntriesAndRefusesDamagedOnes) {
  const std::string id = add("x");
  const Shelf opened = shelf();
  EXPECT_EQ(take(opened, opened.inventory.entries[0].id),
            test::sample_entry(test::sample_key("x")));
  std::filesystem::resize_file(scratch / (id + ".entry"), 60);
  EXPECT_TRUE(contains(
      failure(ExitCode::Findings, [&] { take(opened, opened.inventory.entries[0].id); }), id));
  std::filesystem::remove(scratch / (id + ".entry"));
  failure(ExitCode::Io, [&] { take(opened, opened.inventory.entries[0].id); });
}

TEST_F(ShelfTest, AnEntryUnderAnothersNameIsDamaged) {
  const std::string id = add("x");
  const std::string other(32, 'a');
  std::filesystem::rename(scratch / (id + ".entry"), scratch / (other + ".entry"));
  EXPECT_EQ(look_at(shelf(), *cache::signature_from_hex(other)).fault, cache::Fault::Content);
}

}  // namespace
}  // namespace adjit::cache_tool
