// tests/autosched/cpu/passes/layout_context_test.cpp -- what layouts of reductions are decided by.
#include "autosched/cpu/passes/layout_context.hpp"

#include <gtest/gtest.h>

#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

TEST(LayoutContext, InputsThatStayTheSameRepeatTheirAccesses) {
  Layout layout(matmul_graph(64, 48, 32));
  layout.repeats.first_same = 1;  // the weights
  layout.repeats.times = 50;
  for (const MemoryAccess& access : layout.context.accessed_by(layout.context.stage(0)).reads)
    EXPECT_EQ(access.repeats, access.tensor == layout.context.program.graph.inputs[1] ? 50 : 1);
}

TEST(LayoutContext, TasksAreThoseOfTheStage) {
  Layout layout(matmul_graph(64, 48, 32));
  const Stage& stage = layout.context.stage(0);
  EXPECT_TRUE(layout.context.tasks_of(stage).empty());
  layout.task_axes[stage_key(stage)].axes = {0, 2};
  const TileProblem problem =
      layout.context.problem_of(stage, layout.context.accessed_by(stage), 0, true);
  EXPECT_EQ(problem.task_axes, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(problem.passes, 32) << "tasks along the reduction go on from each other";
  EXPECT_TRUE(problem.may_pack);
}

TEST(LayoutContext, ATileIsTheBestOfItsProblem) {
  Layout layout(matmul_graph(512, 512, 512));
  const Stage& stage = layout.context.stage(0);
  const Accesses accesses = layout.context.accessed_by(stage);
  const TileChoice tile = layout.context.choose(stage, accesses, 0, false);
  const TileChoice expected =
      choose_reduction_tile(layout.context.problem_of(stage, accesses, 0, false));
  EXPECT_EQ(tile.vector_axis, expected.vector_axis);
  EXPECT_EQ(tile.factors, expected.factors);
  EXPECT_EQ(layout.context.choose(stage, accesses, 1, false).factors[0], 1)
      << "axes before the first have loops of their own";
}

TEST(LayoutContext, CopiesStandBeforeTheStageThatReadsThem) {
  const Graph graph = matmul_graph(64, 48, 32);
  Layout layout(graph);
  const Packing packing{{{1, 16, 0}, {0, 1, 0}, {1, 1, 16}}, {}, {}};
  const size_t now = layout.context.packed(0, graph.inputs[1], packing);
  EXPECT_EQ(now, 1u);
  EXPECT_EQ(stage_name(layout.context.program.graph, layout.context.stage(now)), "C");
  expect_faithful(layout.context.program, graph);
}

TEST(LayoutContext, WhatIsKeptIsADecision) {
  Layout layout(matmul_graph(64, 48, 32));
  EXPECT_TRUE(layout.context.keeps(Decision::Pack, 0));
  layout.choices = Choices(Answers{{{Decision::Pack, "C"}, 1}});
  EXPECT_FALSE(layout.context.keeps(Decision::Pack, 0));
}

}  // namespace
}  // namespace adjit::sched
