// tests/runtime/diff/simplify/fixed_outputs_test.cpp -- output axes that rows fix leave their
// stages.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// The graph after the pass, once it has been found to mean the same.
Graph dropped(const std::string& text) {
  const Graph before = parse_graph(text);
  verify(before);
  const Graph after = drop_fixed_outputs(before);
  verify(after);
  const std::vector<Array> inputs = small_inputs(before, 4);
  const std::vector<Array> expected = interpret(before, inputs), got = interpret(after, inputs);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(expected[k].bytes, got[k].bytes) << text;
  return after;
}

TEST(DropFixedOutputs, TheSumRunsOverTheOtherAxesAlone) {
  const Graph graph = dropped(
      "def main(float(5, 7) x) -> (d) { d(i, j) +=! x(i, r_k) where i in 0:5, j in 0:3, r_k in "
      "0:7, "
      "j == 2 }");
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{5, 7}));
  EXPECT_TRUE(graph.stages[0].domain.is_box());
  EXPECT_EQ(graph.stages[1].combiner.kind, CombinerKind::None);
}

TEST(DropFixedOutputs, SeveralAxesAndOtherRows) {
  const Graph graph = dropped(
      "def main(float(5, 7) x) -> (d) { d(i, j, k) +=! x(k, r_l) * float(i + j) where i in 0:4, j "
      "in "
      "0:3, k in 0:5, r_l in 0:7, 1 == i, j == 0, r_l + i <= k + j + 3, q0 = (k + i) // 2, r_l >= "
      "q0 }");
  ASSERT_EQ(graph.stages.size(), 3u);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{5, 7}));
}

TEST(DropFixedOutputs, StagesWithoutACombinerToo) {
  const Graph graph =
      dropped("def main(float(5) x) -> (d) { d(i, j) = x(i) where i in 0:5, j in 0:3, j == 1 }");
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{5}));
}

TEST(DropFixedOutputs, WhatIsNotAConstantStays) {
  for (const char* row : {"i == j", "j == r_k", "j == 5", "2 * j == 2"})
    EXPECT_EQ(dropped("def main(float(5, 3) x) -> (d) { d(i, j) +=! x(i, r_k) where i in 0:5, j in "
                      "0:3, r_k in 0:3, " +
                      std::string(row) + " }")
                  .stages.size(),
              1u)
        << row;
  EXPECT_EQ(dropped("def main(float(5, 7) x) -> (d) { d(i, j) max=! x(i, r_k) where i in 0:5, j in "
                    "0:3, r_k in 0:7, j == 2 }")
                .stages.size(),
            1u);
}

}  // namespace
}  // namespace adjit::testing
