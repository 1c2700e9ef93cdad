// tests/autosched/cpu/passes/reductions/rfactor_test.cpp -- which sums get partial results.
#include "autosched/cpu/passes/reductions/rfactor.hpp"

#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

TEST(Rfactor, LongSumsOfFewResults) {
  Layout layout(total_graph(2048, 1024));
  EXPECT_TRUE(rfactor_long_sum(layout.context, 0));
  EXPECT_TRUE(has_move(layout.context.program, "rfactor"));
  ASSERT_EQ(layout.plans.size(), 1u);
  EXPECT_TRUE(layout.plans.begin()->second.in_parts);
}

TEST(Rfactor, NotShortOnes) {
  Layout layout(total_graph(10, 10));
  EXPECT_FALSE(rfactor_long_sum(layout.context, 0));
  EXPECT_TRUE(layout.plans.empty());
  EXPECT_EQ(layout.context.program.graph.stages.size(), 1u);
}

}  // namespace
}  // namespace adjit::sched
