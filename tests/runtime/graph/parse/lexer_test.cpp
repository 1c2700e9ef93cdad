// tests/runtime/graph/parse/lexer_test.cpp -- text as tokens, and errors that point into it.
#include <gtest/gtest.h>

#include "runtime/graph/parse/lexer.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Lexer, LongLinesAreCutAroundTheCaret) {
  const std::string error =
      error_of("def main(float(3) x) -> (y) { y(i) = " + std::string(5000, ' ') + "@ }");
  EXPECT_LT(error.size(), 500u);
  EXPECT_NE(error.find("1:5038"), std::string::npos) << error;
}

TEST(Lexer, CommentsAndSemicolonsSayNothing) {
  const Graph graph = parse_graph(
      "# before\ndef main(float(3) x) -> (y) { # the body\n  y(i) = x(i); z(i) = y(i);\n}");
  EXPECT_EQ(graph.stages.size(), 2u);
}

// Kinds as letters, and texts: "I:max U:max=! ...".
std::string tokens_of(const std::string& text) {
  const Source source(text, "<text>");
  std::string list;
  for (const Token& token : tokenize(source)) {
    constexpr const char* kLetters = "INFSUDY$";
    list += (list.empty() ? "" : " ") + std::string(1, kLetters[static_cast<size_t>(token.kind)]) +
            (token.text.empty() ? "" : ":" + std::string(token.text));
  }
  return list;
}

TEST(Lexer, UpdatesAreOneTokenWithTheirCombiner) {
  EXPECT_EQ(tokens_of("y = a"), "I:y U:= I:a $");
  EXPECT_EQ(tokens_of("y max=! a"), "I:y U:max=! I:a $");
  EXPECT_EQ(tokens_of("+= +=! *=! argmin="), "U:+= U:+=! U:*=! U:argmin= $");
  EXPECT_EQ(tokens_of("a == b"), "I:a Y:== I:b $") << "a comparison is none";
  EXPECT_EQ(tokens_of("max==b"), "I:max Y:== I:b $");
  EXPECT_EQ(tokens_of("other= b"), "I:other U:= I:b $") << "no combiner of that name";
}

TEST(Lexer, TheLongestSymbolIsTaken) {
  EXPECT_EQ(tokens_of("a<=>b->c//d**e<<f<g"),
            "I:a Y:<=> I:b Y:-> I:c Y:// I:d Y:** I:e Y:<< I:f Y:< I:g $");
}

TEST(Lexer, NumbersAreIntegersOrFloats) {
  EXPECT_EQ(tokens_of("12 0x1f 1. .5 1e-3 2E+4 1e"),
            "N:12 N:0x1f F:1. F:.5 F:1e-3 F:2E+4 N:1 I:e $");
  EXPECT_EQ(tokens_of("1.5f 1.5fs"), "F:1.5 F:1.5 I:fs $") << "C's suffix says nothing";
}

TEST(Lexer, AnExtentIsADimensionOnlyBesideItsName) {
  EXPECT_EQ(tokens_of("A.0 + A .5"), "I:A D:0 Y:+ I:A F:.5 $");
}

TEST(Lexer, StringsLoseTheirQuotesAndTokensKnowTheirLine) {
  EXPECT_EQ(tokens_of("hex \"00 ff\""), "I:hex S:00 ff $");
  EXPECT_EQ(tokens_of(""), "$");
  const Source source("a b\n# a comment\n  c", "<text>");
  const std::vector<Token> tokens = tokenize(source);
  EXPECT_TRUE(tokens[0].starts_line);
  EXPECT_FALSE(tokens[1].starts_line);
  EXPECT_TRUE(tokens[2].starts_line);
  EXPECT_EQ(tokens[2].offset, 18u);
}

TEST(Lexer, PositionsCountFromOne) {
  const Source source("ab\n\ncd", "<text>");
  const auto at = [&](uint32_t offset) {
    const Position p = position_of(source, offset);
    return std::pair(p.line, p.column);
  };
  EXPECT_EQ(at(0), std::pair(1, 1));
  EXPECT_EQ(at(2), std::pair(1, 3)) << "the line's end belongs to it";
  EXPECT_EQ(at(3), std::pair(2, 1));
  EXPECT_EQ(at(5), std::pair(3, 2));
}

TEST(Lexer, MessagesShowTheLineWithACaret) {
  const Source source("first\n\tsecond line\nthird", "f.txt");
  EXPECT_EQ(located(source, 7, "wrong"), "f.txt:2:2: wrong\n   second line\n   ^");
  EXPECT_EQ(located(source, 24, "ends"), "f.txt:3:6: ends\n  third\n       ^");
}

TEST(Lexer, CharactersWithoutMeaningAreRefused) {
  EXPECT_NE(error_of("def main(float(3) x) -> (y) { y(i) = x(i) $ }").find("no meaning here"),
            std::string::npos);
  EXPECT_NE(error_of("def main(float(3) x) -> (y) { y(i) = \"x }").find("no closing quote"),
            std::string::npos);
}

}  // namespace
}  // namespace adjit::graph
