// tests/jit/cache/store_content_test.cpp -- entries with faults in their content are misses, and
// deleted.
#include <gtest/gtest.h>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::read_file;
using test::sample_entry;
using test::sample_key;
using test::write_file;

using StoreContent = test::StoreTest;

TEST_F(StoreContent, EveryFlippedByteIsAMissAndDeleted) {
  const std::string bytes = encode(sample_entry());
  Store store(options());
  for (size_t k = 0; k < bytes.size(); ++k) {
    std::string damaged = bytes;
    damaged[k] = static_cast<char>(~damaged[k]);
    write_file(path, damaged);
    EXPECT_FALSE(store.load(sample_key()).entry) << k;
    EXPECT_FALSE(std::filesystem::exists(path)) << k;
  }
  EXPECT_EQ(store.counts().deleted, bytes.size());
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

TEST_F(StoreContent, ATruncatedEntryIsDeleted) {
  seed();
  std::filesystem::resize_file(path, 100);
  expect_miss("says " + std::to_string(encode(sample_entry()).size()) + " bytes and has 100", true);
}

TEST_F(StoreContent, AForeignVersionIsDeleted) {
  std::string bytes = encode(sample_entry());
  bytes[8] = 2;
  write_file(path, bytes);
  expect_miss("format version 2, this library reads 1", true);
}

TEST_F(StoreContent, OtherComponentsUnderTheSameNameAreDeleted) {
  Entry other = sample_entry();
  other.key.components[1].value = "znver4";
  write_file(path, encode(other));
  expect_miss("component 'cpu' differs", true);
}

TEST_F(StoreContent, ALinkIsDeletedAndItsTargetIsNot) {
  seed();
  std::filesystem::rename(path, scratch / "target");
  std::filesystem::create_symlink(scratch / "target", path);
  expect_miss("a symbolic link", true);
  EXPECT_TRUE(std::filesystem::exists(scratch / "target"));
}

TEST_F(StoreContent, APipeIsDeleted) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_miss("not a regular file", true);
}

TEST_F(StoreContent, ADirectoryIsNoObstacle) {
  std::filesystem::create_directory(path);
  expect_miss("not a regular file", true);
  std::filesystem::create_directory(path);
  write_file(path / "mine", "precious");
  {
    Store store(options());
    store.save(sample_entry());  // nobody has asked for it before
    store.flush();
    EXPECT_TRUE(store.load(sample_key()).entry);
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  write_file(path / "mine", "precious");
  expect_miss("not a regular file", true);
  size_t kept = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(scratch.path()))
    kept += item.path().filename() == "mine";
  EXPECT_EQ(kept, 2U) << "what others put there is not deleted";
}

TEST_F(StoreContent, WhatStandsInPlaceOfTheJournalsGivesWay) {
  seed();
  for (const char* journal : {kUsesName, kPublishedName}) {
    std::filesystem::remove(scratch / journal);
    std::filesystem::create_directory(scratch / journal);
  }
  Store store(options());
  EXPECT_TRUE(store.load(sample_key()).entry);
  store.save(sample_entry(sample_key("other")));
  store.flush();
  EXPECT_TRUE(store.writable());
  for (const char* journal : {kUsesName, kPublishedName})
    EXPECT_TRUE(std::filesystem::is_regular_file(scratch / journal)) << journal;
}

TEST_F(StoreContent, AGroupWritableEntryIsDeleted) {
  seed();
  ASSERT_EQ(chmod(path.c_str(), 0660), 0);
  expect_miss("writable by other users", true);
}

TEST_F(StoreContent, ReadOnlyDeletesNothing) {
  write_file(path, "damaged");
  StoreOptions read_only = options();
  read_only.mode = Mode::ReadOnly;
  Store store(read_only);
  EXPECT_FALSE(store.load(sample_key()).entry);
  EXPECT_TRUE(std::filesystem::exists(path));
  store.save(sample_entry());
  store.discard(sample_key(), "unused");
  store.flush();
  EXPECT_EQ(read_file(path), "damaged");
  EXPECT_FALSE(store.writable());
  EXPECT_EQ(scratch.names().size(), 1U);
}

TEST_F(StoreContent, DiscardDeletesWhatTheReaderCannotUse) {
  Store store(options());
  store.save(sample_entry());
  store.discard(sample_key(), "does not link");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(store.counts().deleted, 1U);
  ASSERT_EQ(log.at(Level::Info).size(), 1U);
  EXPECT_NE(log.at(Level::Info)[0].find("does not link"), std::string::npos);
}

}  // namespace
}  // namespace adjit::cache
