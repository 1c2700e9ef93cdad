// tests/autosched/cpu/passes/pack/pack_operands_test.cpp -- which operands are packed.
#include "autosched/cpu/passes/pack/pack_operands.hpp"

#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

TEST(PackOperands, TransposedOnesWithAPlanForTheTile) {
  const Graph graph = product_graph(96, 96, 96, false, true);
  Layout layout(graph);
  pack_operands(layout.context, 0);
  EXPECT_TRUE(has_move(layout.context.program, "pack"));
  ASSERT_EQ(layout.plans.size(), 1u);
  EXPECT_TRUE(layout.plans.begin()->second.tile.vector_axis.has_value());
  expect_faithful(layout.context.program, graph);
}

TEST(PackOperands, NotWhatTheTileReadsWell) {
  Layout layout(product_graph(96, 96, 96, false, false));
  pack_operands(layout.context, 0);
  EXPECT_TRUE(layout.plans.empty());
  EXPECT_EQ(layout.context.program.graph.stages.size(), 1u);
}

}  // namespace
}  // namespace adjit::sched
