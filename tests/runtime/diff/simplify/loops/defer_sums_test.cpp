// tests/runtime/diff/simplify/loops/defer_sums_test.cpp -- which weight gradients leave the loop,
// and what scans keep.
#include "runtime/diff/simplify/loops/defer_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// A recurrent layer of `steps` steps (and what follows in the brackets), width n.
Graph recurrent_over(const std::string& steps, int64_t n) {
  const std::string size = std::to_string(n), trips = steps.substr(0, steps.find(','));
  Graph graph = parse_graph("def f(double(" + size + ") h0, double(" + trips + ", " + size +
                            ") xs, double(" + size + ", " + size + ") w, double(" + size +
                            ") b) -> (last) {\n  scan (last) = step[" + steps + "](carry double(" +
                            size + ") h = h0, over double(" + size + ") x = xs, fixed double(" +
                            size + ", " + size + ") W = w, fixed double(" + size +
                            ") B = b) -> (n) {\n"
                            "    a(i) +=! W(i, k) * h(k)\n"
                            "    n(i) = tanh(a(i) + x(i) + B(i))\n"
                            "  }\n}\n");
  verify(graph);
  return graph;
}

Graph derived(const Graph& forward) {
  ReverseOptions options;
  options.wrt = float_inputs(forward);
  options.outputs = {0};
  Graph graph = simplify(expand_calls(vjp(forward, options)));
  verify(graph);
  return graph;
}

std::vector<const Stage*> scans(const Graph& graph) {
  std::vector<const Stage*> found;
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scan) found.push_back(&stage);
  return found;
}

// The elements of every result with a leading axis for time, of all scans inside each other.
int64_t stacked_elements(const Graph& graph) {
  int64_t total = 0;
  for (const Stage* stage : scans(graph)) {
    for (size_t k = stage->scan->carries; k < stage->results.size(); ++k)
      total += graph.info(stage->results[k]).element_count();
    total += stacked_elements(*stage->scan->body);
  }
  return total;
}

TEST(SumsOverTime, WeightGradientIsOneContractionAfterTheLoop) {
  const Graph g = derived(recurrent_over("16", 8));
  ASSERT_EQ(scans(g).size(), 2u) << print(g);
  const Stage& reverse = *scans(g)[1];
  ASSERT_TRUE(reverse.scan->reverse);
  for (size_t k = 0; k < reverse.scan->carries; ++k)
    EXPECT_EQ(g.info(reverse.results[k]).element_count(), 8) << "no sum of W's size is carried";
  const auto contraction = std::ranges::find_if(g.stages, [&](const Stage& stage) {
    return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::Sum &&
           stage.domain.extents == std::vector<int64_t>{8, 8, 16};
  });
  EXPECT_NE(contraction, g.stages.end()) << print(g);
}

TEST(SumsOverTime, WhatIsStackedForTheWeightServesTheBias) {
  const Graph g = derived(recurrent_over("16", 8));
  EXPECT_EQ(scans(g)[1]->scan->carries, 1u) << "the cotangent of h alone\n" << print(g);
}

TEST(SumsOverTime, SmallOperandsOfLargeStepsStayInTheLoop) {
  // |W| is one number, its contribution sums up 64: stacking would move 64 times as much.
  const Graph g = derived(
      parse_graph("def f(double(64) h0, double w) -> (last) {\n"
                  "  scan (last) = step[16](carry double(64) h = h0, fixed double W = w) -> (n) {\n"
                  "    n(i) = sin(h(i) * W())\n  }\n}\n"));
  const Stage& reverse = *scans(g)[1];
  EXPECT_EQ(reverse.scan->carries, 2u) << print(g);
}

TEST(SumsOverTime, TablesAreScatteredOnceAfterTheLoop) {
  const Graph forward = parse_graph(
      "def f(double(4) h0, int64(8) idx, double(100, 4) table) -> (last) {\n"
      "  scan (last) = step[8](carry double(4) h = h0, over int64 I = idx, fixed double(100, 4) T "
      "= table) -> (n) {\n"
      "    n(i) = tanh(h(i) + T(I(), i))\n  }\n}\n");
  const Graph g = derived(forward);
  EXPECT_EQ(scans(g)[1]->scan->carries, 1u) << print(g);
  const auto scatter = std::ranges::find(g.stages, StageKind::Scatter, &Stage::kind);
  ASSERT_NE(scatter, g.stages.end()) << print(g);
  EXPECT_TRUE(check_gradients(forward, 1));
}

TEST(Scan, KeepsNothingOfStepsThatTheDerivativeDoesNotNeed) {
  const Graph g = derived(parse_graph(
      "def f(double(8) h0, double(16, 8) xs) -> (last, ys) {\n"
      "  scan (last, ys) = step[16](carry double(8) h = h0, over double(8) x = xs) -> (n, y) {\n"
      "    n(i) = 2 * h(i) + x(i)\n    y(i) = exp(n(i))\n  }\n}\n"));
  EXPECT_EQ(scans(g).size(), 1u) << "linear in everything: the forward is not run\n" << print(g);
}

TEST(Checkpoint, KeepsAboutTheSquareRootOfTenThousandSteps) {
  constexpr int64_t kWidth = 4, kSteps = 10'000;
  const int64_t all = stacked_elements(derived(recurrent_over("10000", kWidth)));
  const Graph g = derived(recurrent_over("10000, segment 100", kWidth));
  EXPECT_GE(all, 2 * kSteps * kWidth) << "carries and values in between";
  // The gradient of xs has 10,000 rows itself, and is stacked in and out of segments.
  const int64_t gradient = (kSteps + kSteps / 100) * kWidth;
  EXPECT_LE(stacked_elements(g) - gradient, 6 * 100 * kWidth) << print(g);
  int64_t copies = 0;
  for (const Stage& stage : g.stages)
    if (stage.kind == StageKind::Compute)
      for (TensorId t : stage.results)
        copies += g.info(t).element_count() >= kSteps * kWidth ? 1 : 0;
  EXPECT_LE(copies, 2) << "xs into segments, its gradient out of them\n" << print(g);
}

TEST(Checkpoint, OfAHundredStepsHasTheGradientsOfTheWholeScan) {
  const Graph whole = recurrent_over("100", 3), cut = recurrent_over("100, segment 10", 3);
  const Graph a = derived(whole), b = derived(cut);
  std::vector<Array> inputs = random_inputs(whole);
  inputs.push_back(Array::of(DType::Float64, {3}, std::vector<double>{1, -2, 3}));
  const std::vector<Array> wanted = interpret(a, inputs), found = interpret(b, inputs);
  for (size_t k = 0; k < wanted.size(); ++k)
    for (int64_t e = 0; e < wanted[k].element_count(); ++e)
      EXPECT_NEAR(found[k].at(e), wanted[k].at(e), 1e-12 + 1e-12 * std::abs(wanted[k].at(e)));
}

}  // namespace
}  // namespace adjit::testing
