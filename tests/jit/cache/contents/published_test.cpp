#include "jit/cache/contents/published.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "jit/cache/files/directory.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::Scratch;

class PublishedTest : public ::testing::Test {
 protected:
  std::optional<uint64_t> add(Published& writer, uint64_t bytes) {
    return writer.add(real_file_system(), scratch.open().number(), bytes);
  }
  Scratch scratch;
};

TEST_F(PublishedTest, EachWriterSeesWhatAllHavePublishedSinceItLooked) {
  Published one, other;
  EXPECT_EQ(add(one, 10), std::nullopt) << "nothing is known of before";
  EXPECT_EQ(add(one, 20), 20U);
  EXPECT_EQ(add(other, 5), std::nullopt);
  EXPECT_EQ(add(other, 7), 7U);
  EXPECT_EQ(add(one, uint64_t{1} << 40), (uint64_t{1} << 40) + 5 + 7);
  EXPECT_EQ(add(other, 1), (uint64_t{1} << 40) + 1);
}

TEST_F(PublishedTest, AJournalThatIsGoneIsBegunAnew) {
  Published one;
  add(one, 10);
  std::filesystem::remove(scratch / kPublishedName);
  EXPECT_EQ(add(one, 1), std::nullopt);
  EXPECT_EQ(add(one, 2), 2U);
}

TEST_F(PublishedTest, ItStaysSmall) {
  Published one, other;
  int unknown = 0;
  uint64_t most = 0;
  for (int k = 0; k < 20'000; ++k) {
    if (!add(k % 2 == 0 ? one : other, 1)) ++unknown;
    std::error_code gone;
    const uint64_t size = std::filesystem::file_size(scratch / kPublishedName, gone);
    if (!gone) most = std::max(most, size);
  }
  EXPECT_LE(most, 70'000U);
  EXPECT_LE(unknown, 10) << "the directory is counted seldom";
}

TEST_F(PublishedTest, WhatStandsInItsPlaceGivesWay) {
  for (const auto& obstacle : std::vector<std::function<void(const std::filesystem::path&)>>{
           [](const auto& path) { std::filesystem::create_directory(path); },
           [](const auto& path) { std::filesystem::create_symlink("nowhere", path); },
           [](const auto& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }}) {
    std::filesystem::remove(scratch / kPublishedName);
    obstacle(scratch / kPublishedName);
    Published one;
    add(one, 1);
    EXPECT_EQ(add(one, 2), 2U);
  }
}

TEST_F(PublishedTest, WhereNothingCanBeWrittenNothingIsKnown) {
  class Full : public FileSystem {
    ssize_t write(int, const void*, size_t) override {
      errno = ENOSPC;
      return -1;
    }
  } full;
  Published one;
  for (int k = 0; k < 3; ++k) EXPECT_EQ(one.add(full, scratch.open().number(), 1), std::nullopt);
}

}  // namespace
}  // namespace adjit::cache
