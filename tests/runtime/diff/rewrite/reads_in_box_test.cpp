// tests/runtime/diff/rewrite/reads_in_box_test.cpp -- reads that are evaluated at more points than
// they were made for.
#include "runtime/diff/rewrite/reads_in_box.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// The body of y in f's text, over all of y's box.
std::string in_box(const std::string& body) {
  Graph graph = parse_graph("def f(double(4) a, int64(4) n) -> (y) {\n  y(i) = " + body +
                            " where i in 0:4, i >= 1, i <= 2\n}");
  Stage& stage = graph.stages.back();
  stage.domain.inequalities.clear();
  stage.bodies[0] = with_reads_in_box(graph, stage.bodies[0], stage.domain);
  const std::string text = print(graph);
  const size_t begin = text.find("y(i) =") + 6, end = text.find(" where i in", begin);
  // On one line, whether it has names for parts or not.
  std::string body_text;
  for (const char c : text.substr(begin, end - begin))
    if (!std::isspace(static_cast<unsigned char>(c)) ||
        (!body_text.empty() && body_text.back() != ' '))
      body_text += c == '\n' ? ' ' : c;
  while (body_text.ends_with(' ')) body_text.pop_back();
  return body_text;
}

TEST(ReadsInBox, ThoseThatStayInRangeAreLeft) { EXPECT_EQ(in_box("a(i) * a(3)"), "a(i) * a(3)"); }

TEST(ReadsInBox, OthersAreZeroOutOfRange) {
  EXPECT_EQ(in_box("a(i - 1)"), "a(i - 1 where 0 <= i - 1 && i - 1 < 4)");
}

TEST(ReadsInBox, WhatGuardedAReadStillDoes) {
  EXPECT_EQ(in_box("a(i + 1 where i < 2)"), "a(i + 1 where i < 2 && (0 <= i + 1 && i + 1 < 4))");
}

TEST(ReadsInBox, IndicesThatAreReadAreGuardedFirst) {
  EXPECT_EQ(in_box("a(n(i - 1))"),
            "let t0 = n(i - 1 where 0 <= i - 1 && i - 1 < 4); a(t0 where 0 <= t0 && t0 < 4)");
}

}  // namespace
}  // namespace adjit::testing
