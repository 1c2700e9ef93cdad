#include "jit/cache/options.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

StoreOptions options(const std::map<std::string, std::string>& variables, Log log = {}) {
  return options_from(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      std::move(log));
}

TEST(Options, Defaults) {
  const StoreOptions none = options({});
  EXPECT_EQ(none.mode, Mode::ReadWrite);
  EXPECT_EQ(none.directory, "");
  EXPECT_EQ(none.shared_directory, "");
  EXPECT_EQ(none.max_bytes, uint64_t{1} << 30);
}

TEST(Options, DirectoryByPrecedence) {
  EXPECT_EQ(options({{"HOME", "/home/u"}}).directory, "/home/u/.cache/adjit");
  EXPECT_EQ(options({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/x"}}).directory, "/x/adjit");
  EXPECT_EQ(options({{"XDG_CACHE_HOME", "/x"}, {"ADJIT_CACHE_DIR", "/y"}}).directory, "/y");
  // Empty counts as unset, and a relative XDG directory as its specification says.
  EXPECT_EQ(
      options({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", ""}, {"ADJIT_CACHE_DIR", ""}}).directory,
      "/home/u/.cache/adjit");
  EXPECT_EQ(options({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "x"}}).directory,
            "/home/u/.cache/adjit");
  EXPECT_EQ(options({{"HOME", "u"}}).directory, "");
  EXPECT_EQ(options({{"ADJIT_CACHE_DIR", "y"}}).directory, std::filesystem::current_path() / "y");
  EXPECT_EQ(options({{"ADJIT_CACHE_SHARED", "/s"}}).shared_directory, "/s");
}

TEST(Options, Modes) {
  test::RememberingLog log;
  EXPECT_EQ(options({{"ADJIT_CACHE", "off"}}, log.callback()).mode, Mode::Off);
  EXPECT_EQ(options({{"ADJIT_CACHE", "ro"}}, log.callback()).mode, Mode::ReadOnly);
  EXPECT_EQ(options({{"ADJIT_CACHE", "rw"}}, log.callback()).mode, Mode::ReadWrite);
  EXPECT_EQ(options({{"ADJIT_CACHE", ""}}, log.callback()).mode, Mode::ReadWrite);
  EXPECT_TRUE(log.at(Level::Warning).empty());
  EXPECT_EQ(options({{"ADJIT_CACHE", "yes"}}, log.callback()).mode, Mode::Off);
  ASSERT_EQ(log.at(Level::Warning).size(), 1U);
  EXPECT_NE(log.at(Level::Warning)[0].find("'yes'"), std::string::npos);
}

TEST(Options, Sizes) {
  test::RememberingLog log;
  EXPECT_EQ(options({{"ADJIT_CACHE_MAX_SIZE", "2G"}}, log.callback()).max_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options({{"ADJIT_CACHE_MAX_SIZE", "0"}}, log.callback()).max_bytes, 0U);
  EXPECT_TRUE(log.at(Level::Warning).empty());
  EXPECT_EQ(options({{"ADJIT_CACHE_MAX_SIZE", "lots"}}, log.callback()).max_bytes,
            uint64_t{1} << 30);
  EXPECT_EQ(log.at(Level::Warning).size(), 1U);
}

}  // namespace
}  // namespace adjit::cache
