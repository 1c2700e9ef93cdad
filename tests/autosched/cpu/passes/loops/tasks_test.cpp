// tests/autosched/cpu/passes/loops/tasks_test.cpp -- loops that become tasks.
#include "autosched/cpu/passes/loops/tasks.hpp"

#include "autosched/program/nests.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RunInParallel, LongKernelsButNotShortOnes) {
  Choices choices;
  const Program large = run_in_parallel(plain(matmul_graph(64, 64, 64)), 0, 1e7, {}, choices);
  EXPECT_GT(parallel_depth(large.kernels[0].root), 0u);
  EXPECT_GE(task_count(large.kernels[0].root), 2 * large.cores);
  const Program small = run_in_parallel(plain(matmul_graph(4, 4, 4)), 0, 100, {}, choices);
  EXPECT_EQ(parallel_depth(small.kernels[0].root), 0u);
  const TaskLimits none{.serial_axis = 0};
  const Program kept = run_in_parallel(plain(matmul_graph(64, 64, 64)), 0, 1e7, none, choices);
  EXPECT_EQ(parallel_depth(kept.kernels[0].root), 0u) << "the first loop stays inside";
}

TEST(ShareTasks, PointsOfTheFirstAxis) {
  const Graph graph = matmul_graph(24, 8, 8);
  const Program program = share_tasks(plain(graph), 0, {.first_axis = true, .points = 6});
  EXPECT_EQ(task_count(program.kernels[0].root), 4);
  expect_faithful(program, graph);
}

}  // namespace
}  // namespace adjit::sched
