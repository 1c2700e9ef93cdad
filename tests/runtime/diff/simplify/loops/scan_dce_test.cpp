// tests/runtime/diff/simplify/loops/scan_dce_test.cpp -- what nothing reads leaves a scan.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// Carries a (from x), b (from a and w), c (from c and the input u); stacked p (of a), q (of u).
Graph three_carries(const std::string& outputs) {
  return parse_graph(
      "def f(double(2) a0, double(2) b0, double(2) c0, double(5, 2) xs, double(5, 2) us, "
      "double(2) ws) -> (" +
      outputs +
      ") {\n"
      "  scan (a, b, c, p, q) = step[5](carry double(2) A = a0, carry double(2) B = b0, "
      "carry double(2) C = c0, over double(2) x = xs, over double(2) u = us, fixed double(2) w = "
      "ws) -> (na, nb, nc, np, nq) {\n"
      "    na(i) = A(i) + x(i)\n    nb(i) = B(i) * w(i) + A(i)\n    nc(i) = C(i) * u(i)\n"
      "    np(i) = A(i) * 2.0\n    nq(i) = exp(u(i))\n  }\n}");
}

// The scan once pruned, when the graph has the values that it had.
Stage pruned(const std::string& outputs) {
  const Graph before = three_carries(outputs);
  const Graph after = compact(prune_scans(before));
  EXPECT_TRUE(same_values(before, after));
  return after.stages.at(0);
}

void expect_counts(const Stage& stage, size_t carries, size_t scanned, size_t fixed,
                   size_t stacked) {
  EXPECT_EQ(stage.scan->carries, carries);
  EXPECT_EQ(stage.scan->scanned, scanned);
  EXPECT_EQ(stage.scan->fixed, fixed);
  EXPECT_EQ(stage.scan->stacked, stacked);
  EXPECT_EQ(stage.operands.size(), carries + scanned + fixed);
  EXPECT_EQ(stage.results.size(), carries + stacked);
}

TEST(ScanDce, WhatIsAllReadStays) { expect_counts(pruned("a, b, c, p, q"), 3, 2, 1, 2); }

TEST(ScanDce, CarriesAndOperandsOfNoUseLeave) {
  expect_counts(pruned("a"), 1, 1, 0, 0);
  expect_counts(pruned("c"), 1, 1, 0, 0);
}

TEST(ScanDce, ACarryThatAnotherNeedsStays) {
  expect_counts(pruned("b"), 2, 1, 1, 0);
  expect_counts(pruned("p"), 1, 1, 0, 1);
}

TEST(ScanDce, AStackedResultNeedsNoCarryThatItDoesNotRead) {
  expect_counts(pruned("q"), 0, 1, 0, 1);
}

TEST(ScanDce, StagesThatReadTheScanCount) {
  Graph graph = three_carries("a, b, c, p, q");
  const ExprId i[] = {graph.pool.axis(0)};
  const TensorId c = graph.stages[0].results[2];
  const TensorId y = add_compute(graph, "y", shape_box({2}), Combiner{}, {read(graph, c, i)})[0];
  add_compute(graph, "dead", shape_box({2}), Combiner{},
              {read(graph, graph.stages[0].results[0], i)});
  graph.outputs = {y};
  const Graph after = compact(prune_scans(graph));
  EXPECT_TRUE(same_values(graph, after));
  expect_counts(after.stages[0], 1, 1, 0, 0);
}

// How often it runs is what its carries say: none leaves.
TEST(ScanDce, ConditionalScansStayWhole) {
  const Graph graph = parse_graph(
      "def f(double(2) a0, double(2) b0, bool go0) -> (a) {\n"
      "  scan (a, b, go) = step[while](carry double(2) A = a0, carry double(2) B = b0, "
      "carry bool go = go0) -> (na, nb, ngo) {\n"
      "    na(i) = A(i) * 0.5\n    nb(i) = B(i) + 1.0\n    ngo() = A(0) > 0.1\n  }\n}");
  EXPECT_EQ(print(prune_scans(graph)), print(graph));
}

}  // namespace
}  // namespace adjit::testing
