// tests/autosched/cpu/passes/loops/kernel_test.cpp -- lanes, tile, order and tasks of a kernel.
#include "autosched/cpu/passes/loops/kernel.hpp"

#include <gtest/gtest.h>

#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program scheduled_kernel(const Graph& graph, const CpuMachine& machine = kTwoCores,
                         const ReductionPlans& plans = {}, const TaskLoops& tasks = {},
                         const SharedTasks& shared = {}) {
  Choices own;
  return schedule_kernel(plain(graph, machine.cores), graph.stages.size() - 1, machine, plans,
                         tasks, shared, own);
}

TEST(KernelLoops, AProductHasLanesATileAndTasks) {
  const Graph g = matmul_graph(96, 128, 64);
  const Program p = scheduled_kernel(g);
  const Nest& nest = p.kernels[0].root;
  EXPECT_GE(parallel_depth(nest), 1u);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(nest.loops.back().axis, 1u);
  EXPECT_GE(nest.loops.size() - tile_begin(nest), 2u);
  expect_faithful(p, g);
}

TEST(KernelLoops, APlanDecidesTheTile) {
  const Graph g = matmul_graph(96, 128, 64);
  ReductionPlans plans;
  ReductionPlan& plan = plans[stage_key(g.stages[0])];
  plan.tile.vector_axis = 0;
  plan.tile.lanes = 8;
  plan.tile.factors = {1, 3, 1};
  const Program p = scheduled_kernel(g, kOneCore, plans);
  const Nest& nest = p.kernels[0].root;
  EXPECT_EQ(nest.loops.back().axis, 0u);
  EXPECT_EQ(nest.loops.back().trips, 8);
  expect_faithful(p, g);
}

TEST(KernelLoops, SettledTasksAreTheLeadingLoops) {
  const Graph g = parse_graph("def f(float(6, 40, 300) x) -> (y) { y(b, i, j) = exp(x(b, i, j)) }");
  const Program p = scheduled_kernel(g, kTwoCores, {}, {{stage_key(g.stages[0]), 2}});
  EXPECT_EQ(parallel_depth(p.kernels[0].root), 2u);
  EXPECT_EQ(task_count(p.kernels[0].root), 6 * 40);
  expect_faithful(p, g);
}

TEST(KernelLoops, SharedTasksAreOfTheFirstAxisAndDivideTheTile) {
  const Graph g = matmul_graph(120, 64, 32);
  const Program p = scheduled_kernel(g, kTwoCores, {}, {}, {true, 30});
  const Nest& nest = p.kernels[0].root;
  ASSERT_EQ(parallel_depth(nest), 1u);
  EXPECT_EQ(nest.loops[0].axis, 0u);
  EXPECT_EQ(nest.loops[0].step, 30);
  for (size_t l = tile_begin(nest); l < nest.loops.size(); ++l)
    if (nest.loops[l].axis == 0) {
      EXPECT_EQ(30 % nest.loops[l].trips, 0);
    }
  expect_faithful(p, g);
}

TEST(KernelLoops, AttachedNestsGetTheirOwnTiles) {
  const Graph g = softmax_graph(64, 200);
  Program p = plain(g);
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  Choices own;
  const Program attached = schedule_attached(p, 3, kTwoCores, {}, own);
  for (size_t s : {0, 1, 2})
    EXPECT_EQ(nest_of(attached, s).loops.back().kind, LoopKind::Vector) << s;
  EXPECT_EQ(nest_of(attached, 3).loops.back().kind, LoopKind::Serial) << "the root keeps its loops";
  expect_faithful(attached, g);
  const Program whole = schedule_kernel(p, 3, kTwoCores, {}, {}, {}, own);
  EXPECT_EQ(nest_of(whole, 3).loops.back().kind, LoopKind::Vector);
  expect_faithful(whole, g);
}

TEST(KernelLoops, AppliedTilesHaveTheLanesInnermostBetweenTheirCopies) {
  const Graph g = matmul_graph(24, 64, 8);
  TileChoice tile;
  tile.vector_axis = 1;
  tile.lanes = 16;
  tile.factors = {4, 2, 1};
  const Program tiled = apply_tile(plain(g), 0, tile);
  const Nest& nest = nest_of(tiled, 0);
  ASSERT_EQ(nest.loops.size() - tile_begin(nest), 3u);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  int64_t instances = 1;
  for (size_t l = tile_begin(nest); l + 1 < nest.loops.size(); ++l)
    instances *= nest.loops[l].trips;
  EXPECT_EQ(instances, 8);
  tile.vector_axis.reset();
  EXPECT_EQ(apply_tile(plain(g), 0, tile).moves_json, "[]") << "without lanes it stays scalar";
}

TEST(KernelLoops, EmptyAndScalarStagesHaveNone) {
  for (const char* text : {"def f(float(0, 5) x) -> (y) { y(i, j) = x(i, j) }",
                           "def f(float x) -> (y) { y() = x() * 2.0 }",
                           "def f(float(5, 0) x) -> (y) { y(i) +=! x(i, r) }"}) {
    const Graph g = parse_graph(text);
    expect_faithful(scheduled_kernel(g), g);
  }
}

}  // namespace
}  // namespace adjit::sched
