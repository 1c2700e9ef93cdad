// tests/jit/engine/report/dump_test.cpp -- files of a compilation, and what happens when they
// cannot be written.
#include "jit/engine/report/dump.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/jit/cache/scratch.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Dump, WritesEveryFileUnderATameName) {
  const cache::test::Scratch scratch;
  const std::string content = std::string("a\0b\n", 4);
  std::vector<std::string> messages;
  const cache::Log log = [&](cache::Level, const std::string& m) { messages.push_back(m); };
  dump(scratch.path().string(), "grad of f(x) / ../g", "0123456789abcdef",
       {{"1-traced.txt", "def f"}, {"2-bytes", content}}, log);
  const std::filesystem::path folder = scratch.path() / "grad_of_f_x_______g-0123456789ab";
  EXPECT_EQ(content_of(folder / "1-traced.txt"), "def f");
  EXPECT_EQ(content_of(folder / "2-bytes"), content);
  EXPECT_TRUE(messages.empty());
}

TEST(Dump, LongTitlesAndShortIdsFit) {
  const cache::test::Scratch scratch;
  dump(scratch.path().string(), std::string(500, 'x'), "id", {{"file", "1"}}, {});
  EXPECT_EQ(content_of(scratch.path() / (std::string(80, 'x') + "-id") / "file"), "1");
}

TEST(Dump, WhatCannotBeWrittenIsOneWarning) {
  const cache::test::Scratch scratch;
  const std::string occupied = (scratch / "file").string();
  std::ofstream(occupied) << "no directory";
  std::vector<std::string> warnings;
  const cache::Log log = [&](cache::Level level, const std::string& message) {
    EXPECT_EQ(level, cache::Level::Warning);
    warnings.push_back(message);
  };
  EXPECT_NO_THROW(dump(occupied, "f", "id", {{"a", "1"}, {"b", "2"}}, log));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("ADJIT_DUMP"), std::string::npos);
  EXPECT_NE(warnings[0].find(occupied), std::string::npos);
}

TEST(Dump, TheDirectoryIsTheEnvironments) {
  ::setenv("ADJIT_DUMP", "/somewhere", 1);
  EXPECT_EQ(dump_directory(), "/somewhere");
  ::unsetenv("ADJIT_DUMP");
  EXPECT_EQ(dump_directory(), "");
}

}  // namespace
}  // namespace adjit::testing
