// tests/autosched/cpu/passes/loops/tasks_test.cpp -- loops that become tasks.
#include "autosched/cpu/passes/loops/tasks.hpp"

#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RunInParallel, LongKernelsButNotShortOnes) {
  Choices choices;
  const Program large = run_in_parallel(plain(matmul_graph(64, 64, 64)), 0, 1e7, {}, choices);
  EXPECT_GT(parallel_depth(large.kernels[0].root), 0u);
  EXPECT_GE(task_count(large.kernels[0].root), 2 * cpu_of(large.target).cores);
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

// Rows side by side take their loop apart; with many cores its inner loop is shared out, too.
TEST(Tasks, OfManyCoresAreLegalForEveryShape) {
  for (const int64_t rows : {600, 773, 1000, 4096})
    for (const int64_t columns : {5, 10, 40}) {
      const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
      const Graph graph = parse_graph("def main(float(" + shape +
                                      ") x) -> (y) {\n"
                                      "  p(i) +=! x(i, r) * x(i, r)\n"
                                      "  y(i, j) = exp(x(i, j) / sqrt(p(i) + 0.5))\n}");
      for (const int cores : {3, 12, 16, 24, 32, 48, 64, 96, 128})
        for (const int bits : {256, 512})
          EXPECT_NO_THROW(default_schedule(graph, CpuMachine{cores, bits}));
      if (rows == 600) expect_faithful(default_schedule(graph, CpuMachine{64, 512}), graph);
    }
}

// Two images for two cores: halves of each end where their rows do, 255 of 256 rows would not.
TEST(Tasks, OfEqualMakespansTheEvenOnes) {
  const auto rows_of_task = [](int64_t rows) {
    const std::string n = std::to_string(rows);
    const Program p =
        default_schedule(parse_graph("def main(float(2, " + n +
                                     ", 512) x) -> (y) { y(b, i, j) = exp(sin(x(b, i, j))) "
                                     "* x(b, i, 511 - j) }"),
                         kTwoCores);
    const std::vector<Loop>& loops = nest_of(p, stage_of(p, "y")).loops;
    EXPECT_EQ(loops[1].kind, LoopKind::Parallel) << print(p);
    return loops[1].step;
  };
  EXPECT_EQ(rows_of_task(256), 128);
  EXPECT_EQ(rows_of_task(257), 256) << "no even parts: one row is left over";
}

}  // namespace
}  // namespace adjit::sched
