#include "jit/cache/contents/uses.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "jit/cache/contents/entry_file.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::read_file;
using test::Scratch;
using test::write_file;

const Signature kA{0xa, 1};
const Signature kB{0xb, 2};

TEST(Uses, LinesAddUp) {
  const Scratch scratch;
  const Descriptor directory = scratch.open();
  uint64_t size = 0;
  for (int64_t time : {100, 300, 200})
    ASSERT_EQ(append_use(real_file_system(), directory.number(), kA, time, size), 0);
  ASSERT_EQ(append_use(real_file_system(), directory.number(), kB, 50, size), 0);
  EXPECT_EQ(size, std::filesystem::file_size(scratch / "uses"));
  Uses uses;
  ASSERT_EQ(read_uses(real_file_system(), directory.number(), uses), 0);
  EXPECT_EQ(uses, (Uses{{kA, {300, 3}}, {kB, {50, 1}}}));
}

TEST(Uses, NoJournalIsAnEmptyOne) {
  const Scratch scratch;
  Uses uses{{kA, {1, 1}}};
  EXPECT_EQ(read_uses(real_file_system(), scratch.open().number(), uses), 0);
  EXPECT_TRUE(uses.empty());
}

TEST(Uses, GarbledLinesSpoilNoOthers) {
  const std::string good_a = "\n" + to_hex(kA) + " 100 1\n";
  const std::string good_b = "\n" + to_hex(kB) + " 200 2\n";
  const Uses expected{{kA, {100, 1}}, {kB, {200, 2}}};
  for (size_t torn = 0; torn < good_a.size() - 1; ++torn) {
    if (torn == good_a.size() - 1) continue;
    const std::string text = good_a + good_b.substr(0, torn) + good_b;
    const Uses uses = parse_uses(text);
    EXPECT_EQ(uses.size(), 2U) << torn;
    EXPECT_EQ(uses.at(kA), expected.at(kA)) << torn;
  }
  EXPECT_EQ(parse_uses("nonsense\n" + to_hex(kB) + "\n" + to_hex(kB) + " 1\n" + to_hex(kB) +
                       " 1 x\n" + to_hex(kB) + " 1 2 3\n" + good_a + std::string(3, '\0') + good_b),
            expected);
  EXPECT_TRUE(parse_uses("").empty());
}

TEST(Uses, ALinkOrAPipeInItsPlaceIsNotFollowedAndGivesWay) {
  const Scratch scratch;
  const Descriptor directory = scratch.open();
  write_file(scratch / "target", "precious");
  std::filesystem::create_symlink(scratch / "target", scratch / "uses");
  uint64_t size = 0;
  Uses uses;
  EXPECT_EQ(read_uses(real_file_system(), directory.number(), uses), ELOOP);
  EXPECT_EQ(append_use(real_file_system(), directory.number(), kA, 1, size), 0);
  EXPECT_EQ(read_uses(real_file_system(), directory.number(), uses), 0);
  EXPECT_EQ(uses.size(), 1U);
  EXPECT_EQ(read_file(scratch / "target"), "precious");

  std::filesystem::remove(scratch / "uses");
  ASSERT_EQ(mkfifo((scratch / "uses").c_str(), 0600), 0);
  EXPECT_EQ(read_uses(real_file_system(), directory.number(), uses), EPERM);
  EXPECT_EQ(append_use(real_file_system(), directory.number(), kA, 1, size), 0);
  EXPECT_TRUE(std::filesystem::is_regular_file(scratch / "uses"));
}

TEST(Uses, CompactionKeepsOneLineForEachEntryThatIsThere) {
  const Scratch scratch;
  const Descriptor directory = scratch.open();
  write_file(scratch / entry_name(kA), "");
  uint64_t size = 0;
  for (int64_t time = 0; time < 100; ++time) {
    ASSERT_EQ(append_use(real_file_system(), directory.number(), kA, time, size), 0);
    ASSERT_EQ(append_use(real_file_system(), directory.number(), kB, time, size), 0);
  }
  ASSERT_EQ(compact_uses(real_file_system(), directory.number(), size), 0);
  EXPECT_EQ(size, std::filesystem::file_size(scratch / "uses"));
  EXPECT_LT(size, 60U);
  Uses uses;
  ASSERT_EQ(read_uses(real_file_system(), directory.number(), uses), 0);
  EXPECT_EQ(uses, (Uses{{kA, {99, 100}}}));
}

}  // namespace
}  // namespace adjit::cache
