#include "tools/adjit-cache/text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace adjit::cache_tool {
namespace {

TEST(Text, TablesAlignByCharacters) {
  std::ostringstream out;
  print_table(out, {"ID", "TITLE", "N"}, {{"1", "caf\u00e9", "2"}, {"long id", "x", ""}});
  EXPECT_EQ(out.str(),
            "ID       TITLE  N\n"
            "1        caf\u00e9   2\n"
            "long id  x      \n");
}

TEST(Text, HarmlessTextStays) {
  const std::string text = "tabs\tand lines\n caf\u00e9 \u2211 \U0001F600";
  EXPECT_EQ(printable(text), text);
}

TEST(Text, WhatSteersATerminalIsSpelled) {
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable(std::string("\0\r\x7f", 3)), "\\x00\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");     // C1
  EXPECT_EQ(printable("\u202e"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");        // Latin-1
  EXPECT_EQ(printable("\xe2\x88"), "\\xe2\\x88");     // cut short
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");     // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, Indents) {
  EXPECT_EQ(indented("a\nb", 2), "  a\n  b\n");
  EXPECT_EQ(indented("a\n", 2), "  a\n");
  EXPECT_EQ(indented("", 2), "\n");
}

}  // namespace
}  // namespace adjit::cache_tool
