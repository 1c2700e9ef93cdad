#include "jit/cache/byte_size.hpp"

#include <gtest/gtest.h>

namespace adjit::cache {
namespace {

TEST(ByteSize, ParsesNumbersAndSuffixes) {
  EXPECT_EQ(parse_byte_size("0"), 0U);
  EXPECT_EQ(parse_byte_size("4096"), 4096U);
  EXPECT_EQ(parse_byte_size("3K"), 3072U);
  EXPECT_EQ(parse_byte_size("512m"), 512U << 20);
  EXPECT_EQ(parse_byte_size("2G"), uint64_t{2} << 30);
  EXPECT_EQ(parse_byte_size("1t"), uint64_t{1} << 40);
  EXPECT_EQ(parse_byte_size("18446744073709551615"), ~uint64_t{0});
}

TEST(ByteSize, RefusesOtherText) {
  for (const char* text : {"", "K", "-1", "+1", "1.5G", "1 G", "1GB", "1X", " 1", "1 ", "0x10",
                           "18446744073709551616", "17592186044416M", "G1"})
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
}

TEST(ByteSize, Formats) {
  EXPECT_EQ(format_byte_size(0), "0 B");
  EXPECT_EQ(format_byte_size(1023), "1023 B");
  EXPECT_EQ(format_byte_size(1536), "1.5 KiB");
  EXPECT_EQ(format_byte_size(uint64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(format_byte_size(~uint64_t{0}), "16777216.0 TiB");
}

}  // namespace
}  // namespace adjit::cache
