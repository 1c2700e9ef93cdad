// tests/runtime/diff/simplify/expanded_bodies_test.cpp -- bodies with elementwise stages written
// out.
#include "runtime/diff/simplify/expanded_bodies.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

// The last stage expanded leaves so many stages alive, and computes the same.
void expect_left(const std::string& statements, size_t stages, bool gathers_twice) {
  const Graph graph =
      parse_graph("def f(double(6) x, double(6) w, int64(6) k) -> (y) {\n" + statements + "\n}");
  Graph expanded = graph;
  ExpandedBodies bodies(expanded);
  const size_t last = expanded.stages.size() - 1;
  EXPECT_EQ(bodies.gathers_twice(last), gathers_twice) << statements;
  expanded.stages[last].bodies[0] = bodies(last).body;
  expanded = compact(std::move(expanded));
  EXPECT_EQ(expanded.stages.size(), stages) << print(expanded);
  std::vector<Array> inputs = testing::random_inputs(graph, 5);
  for (int64_t i = 0; i < 6; ++i) inputs[2].set(i, static_cast<double>(4 * i % 6));
  EXPECT_TRUE(testing::same_values(graph, expanded, inputs));
}

TEST(ExpandedBodies, StagesThatOneReadsAreWrittenOut) {
  expect_left("a(i) = exp(x(i))\n b(i) = a(5 - i) * w(i)\n y(i, j) = b(j) - w(i)", 1, false);
}

TEST(ExpandedBodies, CheapStagesAreWrittenOutWhereverTheyAreRead) {
  expect_left("a(i) = x(i) + 1.0\n y(i) = a(i) * a(5 - i)", 1, false);
  expect_left("a(i) = exp(x(i))\n b(i) = a(i) + 1.0\n y(i) = a(i) * b(i)", 2, false);
}

TEST(ExpandedBodies, PlacesAreWrittenOutIntoIndices) {
  expect_left(
      "p(i) = min(max(k(i), 0), 4)\n q(i) = p(i) + 1\n a(i) = x(p(i))\n b(i) = x(q(i))\n"
      " y(i) = w(i) * a(i) + b(i)",
      1, true);
}

TEST(ExpandedBodies, ReductionsGuardsAndOutputsStay) {
  expect_left("a(i) +=! x(i) * w(j) where j in 0:6\n y(i) = a(i) + 1.0", 2, false);
  expect_left("a(i) = exp(x(i))\n y(i) = a(i - 1 where i >= 1) where i in 0:6", 2, false);
}

// An index out of range is an error at every point of a stage: where the reader leaves some out,
// by a condition or by its range, the stage stays.
TEST(ExpandedBodies, StagesWithPlacesFromDataAreWrittenOutWhole) {
  const std::string gathers = "  a(i) = x(k(i))\n b(i) = x(5 - k(i))\n";
  expect_left(gathers + " y(i) = a(i) + b(i)", 1, true);
  expect_left(gathers + " y(i) = a(i) + b(i) where i in 0:5", 3, false);
  expect_left(gathers + " y(i) = a(i) + select(w(i) < 0.5, b(i), 0.0)", 2, false);
  expect_left(gathers + " y(i) = a(i) + b(0)", 2, false);
  expect_left(
      "  a(i) = x(k(i % 6)) where i in 0:12\n b(i) = x(5 - k(i % 6)) where i in 0:12\n"
      " y(j, i) = a(6 * j + i) + b(2 * i + j * 0) * a(i + 6 * j) where j in 0:2, i in 0:6",
      2, true);
  expect_left(gathers + " y(j, i) = a(i) * w(j) + b(i)", 1, true);
}

TEST(ExpandedBodies, OneGatherIsNotTwo) {
  expect_left("p(i) = min(max(k(i), 0), 5)\n a(i) = x(p(i))\n y(i) = a(i) + w(i)", 1, false);
}

// A hundred steps of a stencil, written out, read a hundred places each at every step.
TEST(ExpandedBodies, StepsOfAStencilAreNotWrittenOutForEver) {
  std::string statements = "  u0(i) = w(i % 6) where i in 0:300\n";
  for (int step = 1; step <= 100; ++step) {
    const std::string before = "u" + std::to_string(step - 1);
    statements += "  u" + std::to_string(step) + "(i) = " + before + "(i) + " + before +
                  "(i + 1) * 0.5 - " + before +
                  "(i + 2) where i in 0:" + std::to_string(300 - 2 * step) + "\n";
  }
  Graph graph = parse_graph("def f(double(6) x, double(6) w, int64(6) k) -> (y) {\n" + statements +
                            "  y(i) = u100(i) * x(min(max(k(i % 6), 0), 4)) + "
                            "x(min(max(k(i % 6), 0), 4) + 1) where i in 0:100\n}");
  const size_t before = graph.pool.size();
  ExpandedBodies bodies(graph);
  EXPECT_TRUE(bodies.gathers_twice(graph.stages.size() - 1));
  (void)bodies(graph.stages.size() - 1);
  EXPECT_LT(graph.pool.size(), before + 4 * kMostExpandedNodes);
}

}  // namespace
}  // namespace adjit::diff
