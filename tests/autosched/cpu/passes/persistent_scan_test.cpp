// tests/autosched/cpu/passes/persistent_scan_test.cpp -- tasks that go through all steps of a scan.
#include "autosched/cpu/passes/persistent_scan.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Tasks of the steps of a scan over 40 rows of 64 that computes `body` from s, v and w, with the
// default schedule for that many cores.
int64_t tasks_of_steps(const std::string& body, int cores = 2, int64_t steps = 50) {
  const std::string t = std::to_string(steps);
  const Graph graph = parse_graph(
      "def f(float(40, 64) h, float(" + t + ", 40, 64) x, float(64, 64) W) -> (c, ys) {\n" +
      " scan (c, ys) = step[" + t +
      "](carry float(40, 64) s = h, over float(40, 64) v = x, fixed float(64, 64) w = W) -> (n, y) "
      "{\n" +
      body + " }\n}");
  const Program program = default_schedule(graph, CpuMachine{cores, 512});
  const Kernel& kernel = program.kernels.back();
  return task_chains(*kernel.steps, program.graph.stages[kernel.root.stage].scan.get()).tasks;
}

constexpr const char* kRowsOfSteps =
    "  p(i, j) +=! s(i, k) * w(j, k)\n  n(i, j) = tanh(p(i, j) + v(i, j))\n  y(i) +=! n(i, r)\n";

TEST(PersistentScan, RowsGoThroughAllStepsOfAScan) {
  EXPECT_GE(tasks_of_steps(kRowsOfSteps), 2);
  EXPECT_GE(tasks_of_steps("  n(i, j) = tanh(s(i, j) * v(i, j))\n  y(i) +=! n(i, r)\n", 4), 4);
  EXPECT_EQ(tasks_of_steps(kRowsOfSteps, 1), 0);
  EXPECT_EQ(tasks_of_steps(kRowsOfSteps, 64), 0) << "fewer rows than cores";
}

// Each step has a matrix of its own, so large that cores share it.
TEST(PersistentScan, LargeOperandsAreReadInStepsThatAllCoresShare) {
  const Graph graph = parse_graph(
      "def f(float(2, 48, 512) h, float(6, 512, 512) x) -> (c) {\n"
      " scan (c) = step[6](carry float(2, 48, 512) s = h, over float(512, 512) w = x) -> (n) {\n"
      "  p(b, i, j) +=! s(b, i, k) * w(k, j)\n  n(b, i, j) = tanh(p(b, i, j))\n }\n}");
  CpuMachine machine{2, 256};
  machine.l2_bytes = 512 << 10;
  const Program program = default_schedule(graph, machine);
  verify(program);
  const Kernel& kernel = program.kernels.back();
  EXPECT_EQ(task_chains(*kernel.steps, program.graph.stages[kernel.root.stage].scan.get()).tasks,
            0);
  EXPECT_NE(print(program).find("fetches the next"), std::string::npos) << print(program);
}

TEST(PersistentScan, RowsThatReadOtherRowsWaitForThem) {
  for (const char* body : {"  n(i, j) = s(39 - i, j) + v(i, j)\n  y(i) +=! n(i, r)\n",
                           "  t(j) +=! s(r, j)\n  n(i, j) = v(i, j) + t(j)\n  y(i) +=! n(i, r)\n",
                           "  n(i, j) = s(i, j) + v(i, j)\n  y(i, j) = n(39 - i, j)\n",
                           "  n(i, j) = s(i, j) + v(i, j)\n  y(j) max=! n(r, j)\n"})
    EXPECT_EQ(tasks_of_steps(body), 0) << body;
  EXPECT_GE(tasks_of_steps("  n(i, j) = s(i, j) + v(39 - i, j)\n  y(i) +=! n(i, r)\n"), 2)
      << "no step changes x";
}

}  // namespace
}  // namespace adjit::sched
