// tests/autosched/cpu/passes/pack/pair_operands_test.cpp -- operands of bfloat16 products with two
// points of the reduction side by side.
#include "autosched/cpu/passes/pack/pair_operands.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

Graph bfloat16_product(int64_t terms) {
  const std::string n = std::to_string(terms);
  return parse_graph("def main(bfloat16(64, " + n + ") a, bfloat16(" + n +
                     ", 64) b) -> (c) {\n  c(i, j) +=! float(a(i, r)) * float(b(r, j))\n}");
}

CpuMachine with_pairs() {
  CpuMachine machine{2, 512};
  machine.bfloat16_pairs = true;
  return machine;
}

TEST(PairOperands, AreCopiedWithTwoPointsSideBySideAndATilePlanned) {
  const Graph graph = bfloat16_product(64);
  Layout layout(graph, with_pairs());
  EXPECT_TRUE(pair_operands(layout.context, 0));
  EXPECT_TRUE(has_move(layout.context.program, "pack"));
  ASSERT_EQ(layout.plans.size(), 1u);
  const TileChoice& tile = layout.plans.begin()->second.tile;
  EXPECT_EQ(tile.factors[2], 2) << "two points of the reduction at once";
  EXPECT_LT(*tile.vector_axis, 2u);
  expect_faithful(layout.context.program, graph);
}

TEST(PairOperands, NeedTheInstructionAndAnEvenReduction) {
  Layout without(bfloat16_product(64));
  EXPECT_FALSE(pair_operands(without.context, 0));
  Layout odd(bfloat16_product(63), with_pairs());
  EXPECT_FALSE(pair_operands(odd.context, 0));
  EXPECT_TRUE(odd.plans.empty());
  EXPECT_EQ(odd.context.program.graph.stages.size(), 1u);
}

TEST(PairOperands, AreADecision) {
  Layout layout(bfloat16_product(64), with_pairs());
  layout.choices = Choices(Answers{{{Decision::Pack, "c"}, 1}});
  EXPECT_FALSE(pair_operands(layout.context, 0));
  EXPECT_EQ(layout.context.program.moves_json, "[]");
}

}  // namespace
}  // namespace adjit::sched
