#include "tools/adjit-cache/age.hpp"

#include <gtest/gtest.h>

namespace adjit::cache_tool {
namespace {

TEST(Age, Parses) {
  EXPECT_EQ(parse_age("0s"), 0);
  EXPECT_EQ(parse_age("90s"), 90'000);
  EXPECT_EQ(parse_age("15m"), 900'000);
  EXPECT_EQ(parse_age("12h"), 43'200'000);
  EXPECT_EQ(parse_age("30d"), int64_t{30} * 86'400'000);
  EXPECT_EQ(parse_age("2w"), int64_t{14} * 86'400'000);
}

TEST(Age, RefusesOtherText) {
  for (const char* text :
       {"", "d", "30", "-1d", "1.5h", "1 d", "1dd", "1y", "366001d", "99999999999999999999d"})
    EXPECT_EQ(parse_age(text), std::nullopt) << text;
}

TEST(Age, Formats) {
  EXPECT_EQ(format_age(-5), "now");
  EXPECT_EQ(format_age(999), "now");
  EXPECT_EQ(format_age(59'999), "59 s");
  EXPECT_EQ(format_age(60'000), "1 min");
  EXPECT_EQ(format_age(7'200'000), "2 h");
  EXPECT_EQ(format_age(int64_t{30} * 86'400'000), "30 d");
}

TEST(Age, FormatsMilliseconds) {
  EXPECT_EQ(format_milliseconds(0.314), "0.31 ms");
  EXPECT_EQ(format_milliseconds(14.4), "14 ms");
  EXPECT_EQ(format_milliseconds(2'500), "2.5 s");
  EXPECT_EQ(format_milliseconds(720'000), "12 min");
}

TEST(Age, FormatsTimes) {
  EXPECT_EQ(format_time(1'709'208'000'000), "2024-02-29 12:00:00 UTC");
  EXPECT_EQ(format_time(0), "1970-01-01 00:00:00 UTC");
}

}  // namespace
}  // namespace adjit::cache_tool
