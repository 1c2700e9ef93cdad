// tests/runtime/diff/simplify/loops/loop_fission_test.cpp -- what leaves a loop, what stays, and
// that values stay.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

const Stage& scan_of(const Graph& graph) {
  return *std::ranges::find(graph.stages, StageKind::Scan, &Stage::kind);
}

// The graph after the pass, once it has been found to mean the same.
Graph split(const Graph& before) {
  const Graph after = split_loops(before);
  verify(after);
  EXPECT_EQ(print(parse_graph(print(after))), print(after));
  const std::vector<Array> inputs = small_inputs(before, 5);
  const std::vector<Array> expected = interpret(before, inputs), got = interpret(after, inputs);
  for (size_t k = 0; k < expected.size(); ++k)
    for (int64_t e = 0; e < expected[k].element_count(); ++e)
      EXPECT_NEAR(expected[k].at(e), got[k].at(e), 1e-5) << print(after);
  return after;
}

// Nine steps over x (2, 6), with weights w (8, 6) and u (8, 8): `body`, giving `outputs` from the
// carry c (batch, 8) on.
Graph loop_of(const std::string& body, const std::string& outputs, const std::string& results,
              const std::string& more = "", int64_t batch = 2) {
  const std::string b = std::to_string(batch);
  Graph graph = parse_graph(
      "def main(float(" + b + ", 8) h0, float(9, " + b +
      ", 6) X, float(8, 6) W, float(8, 8) U) -> (" + results + ") {\n  scan (" + results +
      ") = step[9" + more + "](carry float(" + b + ", 8) c = h0, over float(" + b +
      ", 6) x = X, fixed float(8, 6) w = W, fixed float(8, 8) u = " + "U) -> (" + outputs +
      ") {\n" + body + "  }\n}\n");
  verify(graph);
  return graph;
}

constexpr const char* kRecurrent =
    "    a(i, j) +=! x(i, r_k) * w(j, r_k)\n"
    "    h(i, j) +=! c(i, r_k) * u(j, r_k)\n"
    "    y(i, j) = tanh(a(i, j) + h(i, j))\n";

TEST(SplitLoops, WhatReadsNoCarryIsOneProductBeforeTheLoop) {
  for (const char* more : {"", ", reverse"}) {
    const Graph graph = split(loop_of(kRecurrent, "y", "last", more));
    EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{9, 2, 8, 6}));
    EXPECT_EQ(graph.stages[0].domain.output_rank, 3u);
    const Scan& scan = *scan_of(graph).scan;
    EXPECT_EQ(scan.body->stages.size(), 2u) << "the carried product and tanh";
    EXPECT_EQ(scan.fixed, 1u) << "w is not read in the loop any more";
    EXPECT_EQ(scan.scanned, 1u) << "slices of the product, not of x";
  }
}

TEST(SplitLoops, ResultsLargerThanTheWeightsStay) {
  const Graph graph = split(loop_of(kRecurrent, "y", "last", "", 40));
  EXPECT_EQ(graph.stages.size(), 1u);
}

TEST(SplitLoops, WhatIsOnlyStackedComesAfterTheLoop) {
  const std::string body = std::string(kRecurrent) + "    d(i, k) +=! y(i, r_j) * w(r_j, k)\n";
  for (const char* more : {"", ", reverse"})
    for (const bool kept : {false, true}) {
      const Graph graph =
          split(loop_of(body, kept ? "y, y, d" : "y, d", kept ? "last, rows, D" : "last, D", more));
      const Stage& product = graph.stages.back();
      ASSERT_EQ(product.kind, StageKind::Compute);
      EXPECT_EQ(product.domain.extents, (std::vector<int64_t>{9, 2, 6, 8}));
      EXPECT_EQ(scan_of(graph).scan->stacked, 1u) << "y, as it is or for the product";
    }
}

// What combines, and from what, moves with the reduction: before the loop, over its steps or not,
// and after it.
TEST(SplitLoops, CustomReductionsLeaveWithTheirCombiners) {
  const std::string combine =
      "      combine (m0, n0), (m1, n1) -> (max(m0, m1), n0 + n1)\n"
      "      identity (-inf, 0.0)\n";
  const std::string body = "    (a, b)(i, j) custom=! (x(i, r_k) * w(j, r_k), x(i, r_k))\n" +
                           combine + "    (d, e)(j) custom=! (u(j, r_k), u(r_k, j))\n" + combine +
                           "    h(i, j) +=! c(i, r_k) * u(j, r_k)\n"
                           "    y(i, j) = tanh(a(i, j) + b(i, j) * d(j) + e(j) + h(i, j))\n"
                           "    (f, g)(i, k) custom=! (y(i, r_j) * w(r_j, k), y(i, r_j))\n" +
                           combine;
  for (const char* more : {"", ", reverse"}) {
    const Graph graph = split(loop_of(body, "y, f, g", "last, F, G", more, 1));
    EXPECT_EQ(scan_of(graph).scan->body->stages.size(), 2u) << print(graph);
    EXPECT_EQ(std::ranges::count(graph.stages, StageKind::Compute, &Stage::kind), 3);
  }
}

TEST(SplitLoops, WhatTheStepReadsAgainStays) {
  const std::string body = std::string(kRecurrent) +
                           "    d(i, k) +=! y(i, r_j) * w(r_j, k)\n"
                           "    z(i, j) = y(i, j) + d(i, j % 6)\n";
  const Graph graph = split(loop_of(body, "z, d", "last, D"));
  EXPECT_EQ(graph.stages.back().kind, StageKind::Scan);
}

TEST(SplitLoops, WhatNeverChangesIsComputedOnce) {
  const std::string body =
      "    n(j) +=! u(j, r_k) * u(j, r_k)\n"
      "    y(i, j) = tanh(c(i, j) * n(j)) where i in 0:2, j in 0:8\n";
  const Graph graph = split(loop_of(body, "y", "last"));
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(scan_of(graph).scan->body->stages.size(), 1u);
}

TEST(SplitLoops, ChainsOfProductsLeaveTogether) {
  const std::string body =
      "    a(i, j) +=! x(i, r_k) * w(j, r_k)\n"
      "    e(i, j) +=! a(i, r_k) * u(j, r_k)\n"
      "    y(i, j) = tanh(e(i, j) + c(i, j))\n";
  const Graph graph = split(loop_of(body, "y", "last"));
  EXPECT_EQ(graph.stages.size(), 3u);
  EXPECT_EQ(scan_of(graph).scan->fixed, 0u);
}

TEST(SplitLoops, LoopsInLoops) {
  const Graph graph =
      split(parse_graph("def main(float(2, 8) h0, float(3, 4, 2, 6) X, float(8, 6) W) -> (last) {\n"
                        "  scan (last) = outer[3](carry float(2, 8) c = h0, over float(4, 2, 6) xs "
                        "= X, fixed float(8, "
                        "6) w = W) -> (h) {\n"
                        "    scan (h) = inner[4](carry float(2, 8) d = c, over float(2, 6) x = xs, "
                        "fixed float(8, 6) v "
                        "= w) -> (y) {\n"
                        "      a(i, j) +=! x(i, r_k) * v(j, r_k)\n"
                        "      y(i, j) = tanh(a(i, j) + d(i, j))\n"
                        "    }\n  }\n}\n"));
  EXPECT_EQ(scan_of(graph).kind, StageKind::Scan);
  EXPECT_FALSE(scan_of(*scan_of(graph).scan->body).scan->body->stages.empty());
}

}  // namespace
}  // namespace adjit::testing
