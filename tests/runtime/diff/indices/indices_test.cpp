// tests/runtime/diff/indices/indices_test.cpp -- choices in indices that a domain decides.
#include "runtime/diff/indices/indices.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// x at an index, by the clean-up: the index as text.
std::string simplified(const std::string& index, const std::string& where) {
  const Graph graph = parse_graph("def f(float(100) x, int64(10) I) -> (y) { y(i) +=! x(" + index +
                                  ") where i in 0:10, r_j in 0:5" + where + " }");
  const std::string text = print(simplify_indices(graph));
  const size_t from = text.find("x(", text.find("+=!")) + 2;
  int open = 1;
  size_t to = from;
  for (; open > 0; ++to) open += text[to] == '(' ? 1 : text[to] == ')' ? -1 : 0;
  return text.substr(from, to - from - 1);
}

TEST(WithoutChoices, WhatTheDomainDecides) {
  EXPECT_EQ(simplified("min(i, 9)", ""), "i");
  EXPECT_EQ(simplified("max(min(i, 20), -3)", ""), "i");
  EXPECT_EQ(simplified("min(i, 7)", ", i <= 7"), "i");
  EXPECT_EQ(simplified("max(i, 7)", ", i <= 7"), "7");
  EXPECT_EQ(simplified("max(i, r_j)", ", r_j >= i + 1"), "r_j");
  EXPECT_EQ(simplified("min(i // 2, 4) + max(0, r_j)", ""), "r_j + i // 2");
  EXPECT_EQ(simplified("I(min(i, 9)) % 7", ""), "I(i) % 7");
  EXPECT_EQ(simplified("abs(i - r_j)", ", r_j <= i"), "i - r_j");
  EXPECT_EQ(simplified("i < 0 ? 0 : 9 < i ? 9 : i", ""), "i");
  EXPECT_EQ(simplified("i == r_j || i < 3 ? r_j : 7", ", r_j >= i, r_j <= i"), "r_j");
}

TEST(WithoutChoices, WhatItDoesNot) {
  EXPECT_EQ(simplified("min(i, 7)", ""), "min(i, 7)");
  EXPECT_EQ(simplified("min(i, 7)", ", i <= 8"), "min(i, 7)");
  EXPECT_EQ(simplified("max(i, r_j)", ""), "max(i, r_j)");
  EXPECT_EQ(simplified("max(min(I(i), 7), 0)", ""), "max(min(I(i), 7), 0)");
}

// An index that the domain makes a constant out of range is read nowhere: its predicate knows, too.
TEST(WithoutChoices, PredicatesSpeakOfTheIndex) {
  const Graph graph = parse_graph(
      "def f(double(3) x, int64(1) k) -> (y) { y(i) = x(k(i + 3 where i + 3 < 1) - 1 where 0 <= "
      "k(i + 3 where i + 3 < 1) - 1) where i in 0:4 }");
  const Graph simpler = simplify_indices(graph);
  EXPECT_NO_THROW(verify(simpler)) << print(simpler);
  const std::vector<Array> inputs = random_inputs(graph);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(interpret(simpler, inputs)[0].at(i), 0);
}

// What is read where p < 3 only, with an index that min keeps inside, is read at p: the gradient
// gathers.
TEST(WithoutChoices, GradientsGather) {
  const Graph graph = parse_graph(
      "def f(double(3, 5) x, double(4, 5) w) -> (y) { y(i) +=! (r_p < 3 ? x(min(r_p, 2), i) : 1.0) "
      "* w(r_p, i) where i in 0:5, r_p in 0:4 }");
  ReverseOptions options;
  options.wrt = {0, 1};
  options.outputs = {0};
  for (const Stage& stage : vjp(graph, options).stages)
    EXPECT_NE(stage.kind, StageKind::Scatter) << print(vjp(graph, options));
  EXPECT_TRUE(check_gradients(graph));
}

// A transposed convolution of width 2 and stride 2 reads each of its taps where it is.
TEST(Indices, DivideNoMoreThanTheyMust) {
  const Graph g = parse_graph(
      "def f(float(4, 28) x, float(4, 2) w, float(40) v) -> (y, z) {\n"
      " y(k) +=! x(c, r + k * 2) * w(c, r * -1 - k * 2 + (r + k * 2 + 1) // 2 * 2) where k in "
      "0:14, "
      "c in 0:4, r in 0:2\n"
      " z(k) = v((k + 1) // 2 + (k + 1) // 2 - (k + 1) // 2 * 2 + k // 3) where k in 0:28\n}");
  const Graph simple = simplify_indices(g);
  EXPECT_NE(print(simple).find("w(r_j, r_k)"), std::string::npos) << print(simple);
  EXPECT_NE(print(simple).find("v(i // 3)"), std::string::npos) << print(simple);
  EXPECT_TRUE(same_values(g, simple));
  const Graph already =
      parse_graph("def f(float(9) v) -> (z) { z(k) = v(k // 3) where k in 0:27 }");
  EXPECT_EQ(print(simplify_indices(already)), print(already));
}

}  // namespace
}  // namespace adjit::testing
