// tests/autosched/gpu/flat_schedule_test.cpp -- output loops in parallel, kernel by kernel.
#include "autosched/gpu/flat_schedule.hpp"

#include <gtest/gtest.h>

#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(FlatSchedule, AThreadComputesAPoint) {
  const Graph graph = matmul_graph(5, 7, 6);
  const Program program = flat_schedule(graph, GpuMachine());
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ(task_count(program.kernels[0].root), 35);
  EXPECT_EQ(parallel_depth(program.kernels[0].root), 2u);
  EXPECT_EQ(replay(graph, program.moves_json, GpuMachine()).moves_json, program.moves_json);
}

TEST(FlatSchedule, TotalsAreOneThreads) {
  const Program program = flat_schedule(total_graph(30, 12), GpuMachine());
  EXPECT_EQ(task_count(program.kernels.back().root), 1);
}

TEST(FlatSchedule, StepsOfScansAreParallelToo) {
  const Graph graph = parse_graph(
      "def f(double(3) c0, double(5, 3) x) -> (c, ys) {\n"
      "  scan (c, ys) = step[5](carry double(3) a = c0, over double(3) r = x) -> (n, n) {\n"
      "    n(i) = a(i) + r(i)\n  }\n}");
  const Program program = flat_schedule(graph, GpuMachine());
  size_t scans = 0;
  for (const Kernel& kernel : program.kernels) {
    if (!kernel.steps) continue;
    ++scans;
    EXPECT_EQ(task_count(kernel.steps->kernels[0].root), 3);
  }
  EXPECT_EQ(scans, 1u);
}

}  // namespace
}  // namespace adjit::sched
