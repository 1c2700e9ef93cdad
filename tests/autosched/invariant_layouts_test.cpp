// What every step of a scan reads, turned round before the loop.
#include "autosched/invariant_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// The graph with its only stage, a scan, arranged; checked to mean the same.
Graph arranged(const Graph& before) {
  Graph after = before;
  Stage scan = after.stages.back();
  after.stages.pop_back();
  arrange_invariants(after, scan);
  after.stages.push_back(scan);
  verify(after);
  const std::vector<Array> inputs = small_inputs(before, 6);
  const std::vector<Array> expected = interpret(before, inputs), got = interpret(after, inputs);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(expected[k].bytes, got[k].bytes);
  return after;
}

Graph loop(const std::string& body, int64_t steps = 5) {
  const std::string t = std::to_string(steps);
  return parse_graph("def main(float(2, 40) h0, float(40, 40) W) -> (h) {\n  scan (h) = step[" + t +
                     "](carry float(2, 40) c = h0, fixed float(40, 40) w = W) -> (y) {\n" + body +
                     "  }\n}");
}

constexpr const char* kAlong = "    y(i, j) +=! c(i, r_k) * w(j, r_k) * 0.01\n";

TEST(ArrangeInvariants, WhatAReductionWalksAlongIsTurnedRound) {
  const Graph graph = arranged(loop(kAlong));
  ASSERT_EQ(graph.stages.size(), 2u);
  const Graph& body = *graph.stages[1].scan->body;
  const std::string text = print(graph);
  EXPECT_NE(text.find("w_3(r_k, j)"), std::string::npos) << text;
  EXPECT_EQ(body.info(body.inputs[1]).shape, (std::vector<int64_t>{40, 40}));
}

TEST(ArrangeInvariants, WhatLiesWellStays) {
  EXPECT_EQ(arranged(loop("    y(i, j) +=! c(i, r_k) * w(r_k, j) * 0.01\n")).stages.size(), 1u);
}

TEST(ArrangeInvariants, ReadersMustAgree) {
  EXPECT_EQ(arranged(loop("    a(i, j) +=! c(i, r_k) * w(j, r_k) * 0.01\n"
                          "    y(i, j) +=! a(i, r_k) * w(r_k, j) * 0.01\n"))
                .stages.size(),
            1u);
  EXPECT_EQ(arranged(loop("    a(i, j) +=! c(i, r_k) * w(j, r_k) * 0.01\n"
                          "    y(i, j) = a(i, j) + w(i, j)\n"))
                .stages.size(),
            1u)
      << "read elementwise, too";
}

TEST(ArrangeInvariants, FewStepsDoNotPay) {
  EXPECT_EQ(arranged(loop(kAlong, 3)).stages.size(), 1u);
}

}  // namespace
}  // namespace adjit::testing
