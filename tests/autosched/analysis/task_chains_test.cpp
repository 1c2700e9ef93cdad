// Which kernels chain, and which of their tensors stay within a task.
#include "autosched/analysis/task_chains.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;

// Every stage's first `loops` loops in parallel, after tiling the axis of the last of them.
Program in_tasks(const std::string& text, size_t loops, int64_t chunk = 1) {
  Program p = initial_program(parse_graph(text), CpuMachine{2, 512});
  for (size_t s = 0; s < p.graph.stages.size(); ++s) {
    if (chunk > 1) p = tile(std::move(p), s, loops - 1, Steps{chunk});
    p = parallel(std::move(p), s, loops);
  }
  return p;
}

int64_t slice_of(const Program& p, const char* name) {
  const TaskChains chains = task_chains(p);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.graph.tensors[t].name == name) return chains.slices[t];
  return -1;
}

const char* const kBatched =
    "def main(float(6, 4, 8) x, float(8, 5) w) -> (z) {\n"
    " t(i, j, k) +=! x(i, j, r) * w(r, k)\n u(i, j) max=! t(i, j, r)\n"
    " z(i, j, k) = t(i, j, k) - u(i, j)\n}";

TEST(TaskChains, TasksThatReadTheirOwn) {
  Program p = in_tasks(kBatched, 2);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(slice_of(p, "t"), 5);
  EXPECT_EQ(slice_of(p, "u"), 1);
  EXPECT_EQ(slice_of(p, "z"), 0) << "an output";
  p = in_tasks(kBatched, 1);
  EXPECT_EQ(slice_of(p, "t"), 4 * 5);
  EXPECT_EQ(slice_of(p, "u"), 4);
}

TEST(TaskChains, AreNotOfKernelsThatAreLaunchedOneByOne) {
  Program p = in_tasks(kBatched, 2);
  p.target = GpuMachine{};
  EXPECT_EQ(task_chains(p).continues, std::vector<bool>(3, false));
  EXPECT_EQ(slice_of(p, "t"), 0);
}

// Parts of several points: next to each other, if rows of tasks end where the dimension does.
TEST(TaskChains, PartsOfSeveralPoints) {
  EXPECT_EQ(slice_of(in_tasks(kBatched, 1, 4), "t"), 4 * 4 * 5) << "the last part is shorter";
  EXPECT_EQ(slice_of(in_tasks(kBatched, 2, 2), "t"), 2 * 5);
  const Program ragged = in_tasks(kBatched, 2, 3);
  EXPECT_TRUE(task_chains(ragged).continues[1]);
  EXPECT_EQ(slice_of(ragged, "t"), 0);
}

// Sums over the tasks' own rows go on from task to task; nobody reads them in the chain.
TEST(TaskChains, SumsInTurn) {
  const Graph graph = parse_graph(
      "def main(float(2, 12, 6) x) -> (v, z) {\n"
      " t(h, i, j) = exp(x(h, i, j))\n v(h, j) +=! t(h, r, j) where h in 0:2, j in 0:6, r in 0:12\n"
      " z(h, i, j) = t(h, i, j) + v(h, j) where h in 0:2, i in 0:12, j in 0:6\n}");
  Program p = split_axis(initial_program(graph, CpuMachine{2, 512}),
                         std::vector<StageAxis>{{0, 1}, {1, 2}, {2, 1}}, Steps{4});
  const size_t v = stage_of(p, "v");
  p = reorder(std::move(p), v, std::vector<size_t>{0, 2, 1, 3});
  for (const char* name : {"t", "v", "z_blocks"}) {
    const size_t stage = stage_of(p, name);
    p = parallel(std::move(p), stage, 2);
  }
  EXPECT_EQ(tasks_in_turn(p, p.kernels[v].root), 3);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(slice_of(p, "v"), 0);
  EXPECT_EQ(slice_of(p, "t"), 0) << "a later kernel reads it";
  expect_faithful(p, graph);
  const Graph without = parse_graph(
      "def main(float(2, 12, 6) x) -> (v) {\n"
      " t(h, i, j) = exp(x(h, i, j))\n"
      " v(h, j) +=! t(h, r, j) where h in 0:2, j in 0:6, r in 0:12\n}");
  p = split_axis(initial_program(without, CpuMachine{2, 512}),
                 std::vector<StageAxis>{{0, 1}, {1, 2}}, Steps{4});
  p = pad_leading_dimension(std::move(p), 0, 3);
  p = reorder(std::move(p), 1, std::vector<size_t>{0, 2, 1, 3});
  for (size_t s : {0, 1}) p = parallel(std::move(p), s, 2);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true}));
  EXPECT_EQ(slice_of(p, "t"), 4 * (6 + 3)) << "with the gaps behind its rows";
  expect_faithful(p, without);
}

// A task of a split sum is a part of it: the rows that the task of the same number made.
TEST(TaskChains, PartsOfSums) {
  const Graph graph = parse_graph(
      "def main(float(10, 6) x) -> (v) {\n"
      " t(i, j) = exp(x(i, j))\n v(j) +=! t(r, j) where j in 0:6, r in 0:10\n}");
  for (const int64_t block : {4, 5}) {
    Program p = rfactor(initial_program(graph, CpuMachine{2, 512}), 1, 1, ceil_div(10, block));
    p = parallel(tile(std::move(p), 0, 0, Steps{block}), 0, 1);
    p = parallel(std::move(p), 1, 1);
    EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, false}));
    EXPECT_EQ(slice_of(p, "t"), 6 * block);
  }
  Program p = rfactor(initial_program(graph, CpuMachine{2, 512}), 1, 1, 5);
  p = parallel(tile(std::move(p), 0, 0, Steps{4}), 0, 1);
  p = parallel(std::move(p), 1, 1);
  EXPECT_FALSE(task_chains(p).continues[1]) << "other parts";
  // One part for all tasks is another task's.
  const Graph shared = parse_graph(
      "def main(float(10, 6) x) -> (z) {\n t(i, j) = exp(x(i, j))\n"
      " v(p, j) +=! t(2 * p + r, j) where p in 0:5, j in 0:6, r in 0:2\n"
      " z(i, j) = t(i, j) + v(0, j)\n}");
  p = initial_program(shared, CpuMachine{2, 512});
  for (size_t s : {0, 2}) p = tile(std::move(p), s, 0, Steps{2});
  for (size_t s : {0, 1, 2}) p = parallel(std::move(p), s, 1);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, false}));
}

TEST(TaskChains, OthersReadsBreakThem) {
  // A neighbour's row; all rows; a transposed array.
  for (const char* body : {"z(i, j) = t(i + 1, j) where i in 0:5, j in 0:4",
                           "z(i, j) +=! t(r, j) where i in 0:6, j in 0:4, r in 0:6",
                           "z(i, j) = t(j, i) where i in 0:4, j in 0:6"}) {
    const Program p = in_tasks(
        "def main(float(6, 4) x) -> (z) { t(i, j) = x(i, j) * 2.0 " + std::string(body) + " }", 1);
    EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, false})) << body;
  }
  const Program rows = in_tasks(
      "def main(float(6, 4) x) -> (z) { t(i, j) = x(i, j) * 2.0 z(i, j) = t(i, j) + x(i, j) }", 1);
  EXPECT_TRUE(task_chains(rows).continues[1]);
  EXPECT_FALSE(task_chains(tile(initial_program(rows.graph, CpuMachine{2, 512}), 0, 0, Steps{2}))
                   .continues[1])
      << "no tasks";
}

// A chain's first kernel counts, not only the one before.
TEST(TaskChains, EveryKernelOfTheChainMatters) {
  const Program p = in_tasks(
      "def main(float(6, 4) x) -> (y, z) {\n t(i, j) = x(i, j) * 2.0\n y(i, j) = t(i, j) + 1.0\n"
      " z(i, j) = t(5 - i, j)\n}",
      1);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, false}));
}

TEST(TaskChains, WhatTheCallerOrLaterKernelsNeedStaysWhole) {
  const Program p = in_tasks(
      "def main(float(6, 4) x) -> (y, s) {\n t(i, j) = x(i, j) * 2.0\n y(i, j) = t(i, j) + 1.0\n"
      " s(j) +=! t(r, j)\n}",
      1);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(slice_of(p, "t"), 0);
}

// At the ends of a chain; between others they may stay.
TEST(TaskChains, KernelsThatPassNothingOnStandAlone) {
  const Program p = in_tasks(
      "def main(float(6, 4) x) -> (a, y, z, b) {\n a(i, j) = x(i, j) * 3.0\n"
      " t(i, j) = x(i, j) * 2.0\n y(i, j) = x(i, j) + 1.0\n z(i, j) = t(i, 3 - j)\n"
      " b(i, j) = x(i, j) - 1.0\n}",
      1);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, false, true, true, false}));
  EXPECT_EQ(slice_of(p, "t"), 4);
}

TEST(TaskChains, AttachedNestsWriteTheirRows) {
  Program p = initial_program(
      parse_graph("def main(float(6, 4) x) -> (z) {\n t(i, j) = x(i, j) * 2.0\n"
                  " u(i, j) = t(i, j) + t(i, 3 - j)\n z(i, j) = u(i, j) * t(i, 3 - j)\n}"),
      CpuMachine{2, 512});
  p = compute_at(p, stage_of(p, "t"), stage_of(p, "u"), 1);
  p = parallel(p, stage_of(p, "u"), 1);
  p = parallel(p, stage_of(p, "z"), 1);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_TRUE(task_chains(p).continues[1]);
  EXPECT_EQ(slice_of(p, "t"), 4);
  EXPECT_EQ(slice_of(p, "u"), 4);
}

// Attached at the first of two parallel loops, it reads what other tasks of the earlier kernel
// wrote.
TEST(TaskChains, NestsAttachedBetweenParallelLoopsBreakThem) {
  Program p =
      initial_program(parse_graph("def main(float(6, 4) x) -> (z) {\n t(i, j) = x(i, j) * 2.0\n"
                                  " s(i) +=! t(i, r)\n z(i, j) = s(i) + x(i, j)\n}"),
                      CpuMachine{2, 512});
  p = compute_at(p, stage_of(p, "s"), stage_of(p, "z"), 1);
  p = parallel(p, stage_of(p, "t"), 2);
  p = parallel(p, stage_of(p, "z"), 2);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, false}));
  EXPECT_EQ(slice_of(p, "t"), 0);
}

}  // namespace
}  // namespace adjit::sched
