// tests/autosched/program/program_test.cpp -- plain nests and small questions about programs.
#include "autosched/program/program.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/prefix.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Program, APlainNestHasALoopForEveryAxisOfSeveralPoints) {
  const LoweredGraph g(parse_graph("def f(float(4, 1, 6) x) -> (y) { y(i, j) +=! x(i, j, r) }"));
  uint32_t variables = 3;
  const Nest nest = plain_nest(g, 0, variables);
  ASSERT_EQ(nest.loops.size(), 2u);
  EXPECT_EQ(nest.loops[0].axis, 0u);
  EXPECT_EQ(nest.loops[0].trips, 4);
  EXPECT_EQ(nest.loops[0].variable, 3u);
  EXPECT_EQ(nest.loops[1].axis, 2u);
  EXPECT_EQ(nest.loops[1].kind, LoopKind::Serial);
  EXPECT_EQ(variables, 5u);
  EXPECT_EQ(nest.spans, (std::vector<int64_t>{4, 1, 6}));
}

TEST(Program, TheLoopThatResultsRunAlongIsTheInnermost) {
  const LoweredGraph g = lower_running(LoweredGraph(parse_graph(
      "def f(float(20, 4) x) -> (y) { y(i, j) +=! x(r, j) where i in 0:20, j in 0:4, r in 0:20, "
      "r <= i }")));
  ASSERT_TRUE(running_of(g, g.stages[0]));
  uint32_t variables = 0;
  EXPECT_EQ(plain_nest(g, 0, variables).loops.back().axis, 0u);
}

TEST(Program, TasksAreTheParallelLoopsAndTheTileTheLastOnes) {
  Program p = plain(matmul_graph(12, 32, 8));
  EXPECT_EQ(parallel_depth(p.kernels[0].root), 0u);
  EXPECT_EQ(task_count(p.kernels[0].root), 1);
  EXPECT_EQ(tile_begin(p.kernels[0].root), 3u) << "no tile";
  p = parallel(unroll(vectorize(std::move(p), 0, 1, 16), 0, 0, 3), 0, 2);
  const Nest& nest = p.kernels[0].root;
  EXPECT_EQ(parallel_depth(nest), 2u);
  EXPECT_EQ(task_count(nest), 4 * 2);
  EXPECT_EQ(nest.loops.size() - tile_begin(nest), 2u);
  EXPECT_EQ(tasks_in_turn(p, nest), 1) << "all are independent";
}

TEST(Program, PartsOfAReductionAreTasksInTurn) {
  const Graph g = column_sum_graph(60, 8);
  Program p = tile(plain(g), 0, 1, std::vector<int64_t>{10});
  const std::vector<size_t> order{0, 1, 2};
  p = parallel(reorder(std::move(p), 0, order), 0, 2);
  EXPECT_EQ(task_count(p.kernels[0].root), 8 * 6);
  EXPECT_EQ(tasks_in_turn(p, p.kernels[0].root), 6);
  expect_faithful(p, g);
}

// From the first loop over a reduction on, whatever follows it.
TEST(Program, ResultsInsidePartsOfAReductionWaitWithThem) {
  const Graph g = column_sum_graph(60, 8);
  Program p = tile(plain(g), 0, 1, std::vector<int64_t>{10});
  p = parallel(reorder(std::move(p), 0, std::vector<size_t>{1, 0, 2}), 0, 2);
  EXPECT_EQ(p.kernels[0].root.loops[0].axis, 1u);
  EXPECT_EQ(tasks_in_turn(p, p.kernels[0].root), 6 * 8);
  expect_faithful(p, g);
}

TEST(Program, FallbacksOfStepsCountWithItsOwn) {
  Program inner = plain(matmul_graph(4, 4, 4)), p = plain(matmul_graph(4, 4, 4));
  EXPECT_TRUE(fallbacks_of(p).empty());
  inner.fallbacks = {"inside"};
  p.fallbacks = {"outside"};
  p.kernels[0].steps = std::make_shared<const Program>(inner);
  EXPECT_EQ(fallbacks_of(p), (std::vector<std::string>{"outside", "inside"}));
}

TEST(Program, KindsAndScopesHaveNames) {
  EXPECT_EQ(name_of(LoopKind::Serial), "serial");
  EXPECT_EQ(name_of(LoopKind::Vector), "vector");
  EXPECT_EQ(name_of(Scope::Argument), "argument");
  EXPECT_EQ(name_of(Scope::None), "none");
}

}  // namespace
}  // namespace adjit::sched
