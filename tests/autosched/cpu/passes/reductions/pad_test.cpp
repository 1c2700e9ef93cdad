// tests/autosched/cpu/passes/reductions/pad_test.cpp -- which operands get zeros around them.
#include "autosched/cpu/passes/reductions/pad.hpp"

#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

TEST(PadOperand, ImagesThatConditionsKeepInside) {
  const Graph graph = conv_graph(4, 16, 14, 14, 16, 1, true);
  Layout layout(graph);
  EXPECT_EQ(pad_operand(layout.context, 0), 1u) << "the copy stands before it";
  EXPECT_TRUE(has_move(layout.context.program, "pack"));
  EXPECT_TRUE(layout.context.stage(1).domain.is_box()) << "no condition is left";
}

TEST(PadOperand, NotWhereNothingIsOutside) {
  Layout layout(matmul_graph(64, 64, 64));
  EXPECT_EQ(pad_operand(layout.context, 0), 0u);
  EXPECT_EQ(layout.context.program.graph.stages.size(), 1u);
}

}  // namespace
}  // namespace adjit::sched
