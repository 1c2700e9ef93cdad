// tests/runtime/diff/reverse/segments_test.cpp -- the shape of scans cut in segments, and their
// values.
#include "runtime/diff/reverse/segments.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

Graph decaying(int64_t steps, const std::string& more) {
  const std::string count = std::to_string(steps);
  return parse_graph("def f(double(3) h0, double(" + count +
                     ", 3) xs) -> (last, ys) {\n  scan (last, ys) = step[" + count + more +
                     "](carry double(3) h = h0, over double(3) x = xs) -> (n, y) {\n"
                     "    n(i) = h(i) * 0.5 + x(i)\n    y(i) = h(i) * x(i)\n  }\n}\n");
}

Graph cut(const Graph& graph) {
  const Graph segments = segment_scans(graph, std::vector<size_t>{0, 1});
  verify(segments);
  return segments;
}

const Stage& only_scan(const Graph& graph) {
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scan) return stage;
  throw std::runtime_error("no scan in\n" + print(graph));
}

size_t calls(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count(graph.stages, StageKind::Call, &Stage::kind));
}

TEST(Segments, AScanOfWholeSegmentsIsAScanOfCallsToRecompute) {
  const Graph graph = cut(decaying(12, ", segment 4"));
  const Scan& outer = *only_scan(graph).scan;
  EXPECT_EQ(outer.trips, 3);
  EXPECT_EQ(outer.segment, 0);
  EXPECT_EQ(calls(graph), 0u);
  ASSERT_EQ(calls(*outer.body), 1u);
  const Call& call = *outer.body->stages[0].call;
  EXPECT_TRUE(call.recompute);
  EXPECT_EQ(only_scan(*call.body).scan->trips, 4);
}

TEST(Segments, WhatIsLeftFollowsInOneMoreCall) {
  for (const char* more : {", segment 5", ", reverse, segment 5"}) {
    const Graph graph = cut(decaying(12, more));
    EXPECT_EQ(only_scan(graph).scan->trips, 2);
    ASSERT_EQ(calls(graph), 1u);
    for (const Stage& stage : graph.stages)
      if (stage.call) {
        EXPECT_EQ(only_scan(*stage.call->body).scan->trips, 2);
      }
  }
}

TEST(Segments, HaveTheValuesOfTheWholeScan) {
  for (const int64_t steps : {2, 7, 12})
    for (const std::string way : {"", ", reverse"})
      for (const int64_t segment : {1, 3, 6, 11}) {
        if (segment >= steps) continue;
        const Graph whole = decaying(steps, way);
        const Graph parts = cut(decaying(steps, way + ", segment " + std::to_string(segment)));
        const std::vector<Array> inputs = random_inputs(whole);
        const std::vector<Array> wanted = interpret(whole, inputs),
                                 found = interpret(parts, inputs);
        for (size_t k = 0; k < wanted.size(); ++k)
          EXPECT_EQ(found[k].bytes, wanted[k].bytes) << steps << way << " " << segment;
      }
}

TEST(Segments, ScansThatNeedNoneStay) {
  for (const char* more : {"", ", segment 12", ", segment 40"})
    EXPECT_EQ(print(cut(decaying(12, more))), print(decaying(12, more))) << more;
  const Graph graph = decaying(12, ", segment 4");
  EXPECT_EQ(print(segment_scans(graph, {})), print(graph)) << "nothing is derived";
  Graph stopped = graph;
  stopped.stages[0].stop_gradient = true;
  EXPECT_EQ(print(cut(stopped)), print(stopped));
}

TEST(Segments, OnlyScansThatADerivativePassesThroughAreCut) {
  const Graph graph = parse_graph(
      "def f(double(3) a, double(3) b) -> (p, q) {\n"
      "  scan (p) = one[6, segment 2](carry double(3) h = a) -> (n) { n(i) = h(i) * h(i) }\n"
      "  scan (q) = two[6, segment 2](carry double(3) h = b) -> (n) { n(i) = h(i) + 1.0 }\n}");
  const Graph found = segment_scans(graph, std::vector<size_t>{1});
  verify(found);
  std::vector<int64_t> trips;
  for (const Stage& stage : found.stages)
    if (stage.scan) trips.push_back(stage.scan->trips);
  EXPECT_EQ(trips, (std::vector<int64_t>{6, 3}));
}

}  // namespace
}  // namespace adjit::testing
