// tests/runtime/graph/parse/expression_parser_test.cpp -- expressions of the text notation, by
// precedence.
#include <gtest/gtest.h>

#include "runtime/graph/parse/expression_parser.hpp"
#include "runtime/graph/parse/lexer.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(ExpressionParser, PowersAreThoseOfPython) {
  const auto body = [](const std::string& text) {
    const Graph graph =
        parse_graph("def main(float(3) x) -> (y) { y(i) = " + text + " where i in 0:3 }");
    return print_stage(graph, graph.stages[0]);
  };
  for (const auto& [python, spelled] : {std::pair{"-x(i) ** x(i)", "-pow(x(i), x(i))"},
                                        {"x(i) ** -x(i)", "pow(x(i), -x(i))"},
                                        {"x(i) ** x(i) ** 3", "pow(x(i), pow(x(i), 3))"},
                                        {"2 * x(i) ** 3 * x(i)", "2 * pow(x(i), 3) * x(i)"},
                                        {"-2 ** x(i)", "-pow(2, x(i))"},
                                        {"(-2) ** x(i)", "pow(-2, x(i))"}})
    EXPECT_EQ(body(python), body(spelled)) << python;
}

TEST(ExpressionParser, AParenthesisOnTheNextLineBeginsAStatement) {
  const Graph graph = parse_graph(
      "def main(float(3) x, float s) -> (y, v) {\n  y(i) = x(i) * s\n  (v, w)() argmax=! (y(r), "
      "r)\n}");
  EXPECT_EQ(graph.stages.size(), 2u);
}

TEST(ExpressionParser, DeepNestingNeedsNoStack) {
  std::string text = "def main(float x) -> (y) { y = ";
  for (int k = 0; k < 50'000; ++k) text += "-(";
  text += "x";
  text.append(50'000, ')');
  EXPECT_NO_THROW(parse_graph(text + " }"));
  EXPECT_THROW(parse_graph(text), Error);
}

// The tree as nested operations.
std::string tree_of(const std::string& text) {
  const Source source(text, "<text>");
  const std::vector<Token> tokens = tokenize(source);
  Cursor cursor(source, tokens);
  Syntax syntax;
  const SyntaxId root = parse_expression(cursor, syntax);
  EXPECT_EQ(cursor.peek().kind, TokenKind::End) << text;
  std::vector<std::string> texts;
  for (SyntaxId id = 0; id <= root; ++id) {
    const SyntaxNode& node = syntax[id];
    std::string one = node.kind == SyntaxKind::Operation ? std::string(info(node.op).name)
                                                         : std::string(node.text);
    if (node.negative) one = "-" + one;
    if (node.swapped) one += "'";
    for (size_t k = 0; k < node.child_count; ++k)
      one += (k ? " " : "(") + texts[syntax.child(id, k)];
    texts.push_back(one + (node.child_count ? ")" : ""));
  }
  EXPECT_EQ(syntax[root].subtree, 0u);
  return texts[root];
}

TEST(ExpressionParser, OperatorsBindAsInC) {
  EXPECT_EQ(tree_of("a + b * c"), "+(a *(b c))");
  EXPECT_EQ(tree_of("a - b - c"), "-(-(a b) c)");
  EXPECT_EQ(tree_of("(a - b) * -c"), "*(-(a b) -(c))");
  EXPECT_EQ(tree_of("a < b && c || !d"), "||(&&(<(a b) c) !(d))");
  EXPECT_EQ(tree_of("a > b"), "<'(a b)") << "a comparison turned round, in the order written";
}

TEST(ExpressionParser, TernariesAssociateToTheRight) {
  EXPECT_EQ(tree_of("a ? b : c ? d : e"), "select(a b select(c d e))");
  EXPECT_EQ(tree_of("a ? b ? c : d : e"), "select(a select(b c d) e)");
}

TEST(ExpressionParser, AMinusBeforeALiteralIsItsSign) {
  EXPECT_EQ(tree_of("-3"), "-3");
  EXPECT_EQ(tree_of("-(3)"), "-(3)");
  EXPECT_EQ(tree_of("a - 3"), "-(a 3)");
}

TEST(ExpressionParser, CallsAndGuardedReadsHoldTheirOperands) {
  EXPECT_EQ(tree_of("f(a, b + 1)"), "f(a +(b 1))");
  EXPECT_EQ(tree_of("x(a where b)"), "x(a b)");
}

TEST(ExpressionParser, WhatIsShownOfATokenIsItsText) {
  const Source source("abc", "<text>");
  const std::vector<Token> tokens = tokenize(source);
  EXPECT_EQ(shown(tokens[0]), "'abc'");
  EXPECT_EQ(shown(tokens[1]), "the end of the text");
}

}  // namespace
}  // namespace adjit::graph
