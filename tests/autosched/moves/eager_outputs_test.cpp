// tests/autosched/moves/eager_outputs_test.cpp -- an order in which results live short.
#include "autosched/moves/moves.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layers.hpp"

namespace adjit::sched {
namespace {

TEST(EarlyResults, GradientsRunWhenTheirOperandsAreThere) {
  const Graph graph = parse_graph(kLayers);
  const Program p = eager_outputs(plain(graph));
  EXPECT_EQ(names(p),
            (std::vector<std::string>{"p", "a", "q", "b", "dq", "dv", "da", "dp", "dw", "dx"}));
  expect_faithful(p, graph);
  EXPECT_EQ(names(eager_outputs(p)), names(p));
}

// What needs no operand of ours is computed where it is read.
TEST(EarlyResults, WhatWaitsForNothingWaitsForItsReader) {
  const Graph graph = parse_graph(
      "def main(float(6, 6) x, float(6, 6) w) -> (y, z) {\n"
      "  a(i, j) +=! x(i, k) * w(k, j)\n"
      "  b(i, j) = tanh(a(i, j))\n"
      "  t(i, j) +=! w(i, k) * w(k, j)\n"
      "  u(i, j) = t(j, i) + 1.0\n"
      "  z(i) +=! b(i, k) * a(i, k)\n"
      "  y(i, j) +=! u(i, k) * b(k, j)\n}");
  const Program p = eager_outputs(plain(graph));
  EXPECT_EQ(names(p), (std::vector<std::string>{"a", "b", "t", "u", "z", "y"}));
  expect_faithful(p, graph);
}

// Of several results, each with a reader: it goes where the first of these does.
TEST(EarlyResults, SeveralResultsWaitForTheirFirstReader) {
  const Graph graph = parse_graph(
      "def main(float(6, 6) x) -> (y, z) {\n"
      "  (a, b)(i) argmax=! (x(i, r), r)\n"
      "  y(i) = a(i) * 2.0\n"
      "  c(i) +=! x(r, i)\n"
      "  d(i) +=! c(r) * x(i, r)\n"
      "  z(i) = d(i) + float(b(i))\n}");
  const Program p = eager_outputs(plain(graph));
  EXPECT_EQ(names(p), (std::vector<std::string>{"a", "y", "c", "d", "z"}));
  expect_faithful(p, graph);
}

}  // namespace
}  // namespace adjit::sched
