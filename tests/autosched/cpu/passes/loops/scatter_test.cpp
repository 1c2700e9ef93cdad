// tests/autosched/cpu/passes/loops/scatter_test.cpp -- where scatters and running reductions get
// lanes, tasks and parts.
#include "autosched/cpu/passes/loops/scatter.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/lower/prefix.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "autosched/search/search.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr CpuMachine kFourCores{.cores = 4, .vector_bits = 512};

std::vector<const Loop*> loops(const Program& program, size_t stage, LoopKind kind) {
  std::vector<const Loop*> found;
  for (const Loop& loop : nest_at(program, *find_nest(program, stage)).loops)
    if (loop.kind == kind) found.push_back(&loop);
  return found;
}

Program scheduled_scatter(Program program, size_t stage, const CpuMachine& machine) {
  Choices own;
  return schedule_scatter(std::move(program), stage, machine, {}, own);
}

Graph embedding_gradient(int64_t rows, int64_t width) {
  const std::string r = std::to_string(rows), w = std::to_string(width);
  return parse_graph("def f(float(" + r + ", " + w + ") d, int64(" + r + ") n) -> (h) {\n" +
                     "  scatter float(50, " + w +
                     ") h(n(i), j) +=[drop] d(i, j) where i in 0:" + r + ", j in 0:" + w + "\n}");
}

TEST(ScatterSchedule, ColumnsAreLanesAndTasks) {
  const Graph graph = embedding_gradient(400, 256);
  Program p = plain(graph, 4);
  const size_t s = scatter_in(p);
  p = scheduled_scatter(std::move(p), s, kFourCores);
  ASSERT_EQ(loops(p, s, LoopKind::Vector).size(), 1u) << print(p);
  EXPECT_EQ(loops(p, s, LoopKind::Vector)[0]->axis, 1u);
  EXPECT_EQ(loops(p, s, LoopKind::Vector)[0]->trips, 16);
  ASSERT_EQ(loops(p, s, LoopKind::Unrolled).size(), 1u) << "no loop over a task's part of a row";
  EXPECT_EQ(loops(p, s, LoopKind::Unrolled)[0]->trips, 4);
  ASSERT_EQ(loops(p, s, LoopKind::Parallel).size(), 1u) << print(p);
  EXPECT_EQ(loops(p, s, LoopKind::Parallel)[0]->axis, 1u);
  expect_faithful(p, graph);
}

TEST(ScatterSchedule, EveryCoreHasAPartOfARaggedRow) {
  for (const int64_t width : {120, 200, 250, 500}) {
    const Graph graph = embedding_gradient(400, width);
    Program p = plain(graph, 4);
    const size_t s = scatter_in(p);
    p = scheduled_scatter(std::move(p), s, kFourCores);
    ASSERT_EQ(loops(p, s, LoopKind::Parallel).size(), 1u) << print(p);
    EXPECT_EQ(loops(p, s, LoopKind::Parallel)[0]->trips, 4) << width;
    expect_faithful(p, graph);
  }
}

TEST(ScatterSchedule, OneCoreTakesWholeRows) {
  const Graph graph = embedding_gradient(400, 256);
  Program p = plain(graph, 1);
  const size_t s = scatter_in(p);
  p = scheduled_scatter(std::move(p), s, {.cores = 1, .vector_bits = 512});
  EXPECT_TRUE(loops(p, s, LoopKind::Parallel).empty()) << print(p);
  ASSERT_EQ(loops(p, s, LoopKind::Unrolled).size(), 1u) << print(p);
  EXPECT_EQ(loops(p, s, LoopKind::Unrolled)[0]->trips, 8);
  expect_faithful(p, graph);
}

TEST(ScatterSchedule, ASmallOneIsNotWorthTasks) {
  const Graph graph = embedding_gradient(4, 8);
  Program p = plain(graph, 4);
  const size_t s = scatter_in(p);
  p = scheduled_scatter(std::move(p), s, kFourCores);
  EXPECT_TRUE(loops(p, s, LoopKind::Parallel).empty()) << print(p);
  EXPECT_EQ(loops(p, s, LoopKind::Vector).size(), 1u);
  expect_faithful(p, graph);
}

Graph histogram(int64_t points, int64_t bins) {
  const std::string n = std::to_string(points), b = std::to_string(bins);
  return parse_graph("def f(int64(" + n + ") n) -> (h) {\n  scatter float(" + b +
                     ") h(n(i)) +=[drop] 1 where i in 0:" + n + "\n}");
}

TEST(ScatterSchedule, AHistogramIsSplitWhereItIsLongAndSmall) {
  const Program split = split_scatters(plain(histogram(1'000'000, 16), 4));
  EXPECT_EQ(split.graph.info(split.graph.stages[scatter_in(split)].results[0]).shape,
            (std::vector<int64_t>{8, 16}));
  const auto parts = [](const Graph& graph) {
    return split_scatters(plain(graph, 4)).graph.stages.size() -
           plain(graph, 4).graph.stages.size();
  };
  EXPECT_EQ(parts(histogram(1'000'000, 16)), 3u);
  EXPECT_EQ(parts(histogram(1'000'000, 500'000)), 0u) << "eight copies cost more than the points";
  EXPECT_EQ(parts(histogram(100, 2)), 0u) << "too short";
  EXPECT_EQ(parts(embedding_gradient(100'000, 8)), 0u) << "columns write apart";
}

// The gradient of samples of an image along a flow.
Graph image_gradient(int64_t batch, int64_t channels, int64_t side) {
  const std::string b = std::to_string(batch), c = std::to_string(channels),
                    n = std::to_string(side);
  return parse_graph("def f(float(" + b + ", " + c + ", " + n + ", " + n + ") d, int64(" + b +
                     ", " + n + ", " + n + ") I) -> (h) {\n  scatter float(" + b + ", " + c + ", " +
                     n + ", " + n + ") h(b, c, max(min(I(b, i, j) + k, " +
                     std::to_string(side - 1) + "), 0), I(b, j, i) % " + n +
                     ") +=[drop] d(b, c, i, j) where b in 0:" + b + ", c in 0:" + c +
                     ", i in 0:" + n + ", j in 0:" + n + ", k in 0:4\n}");
}

TEST(ScatterSchedule, LanesWriteRowsWhereDataNamesThem) {
  const CpuMachine machine{.cores = 4, .vector_bits = 256};
  const auto rows = [&](int64_t batch, int64_t channels, int64_t side) {
    Program p = initial_program(image_gradient(batch, channels, side), CpuMachine{4, 256});
    return write_scatters_by_rows(std::move(p));
  };
  Program p = rows(2, 8, 32);
  const size_t s = scatter_in(p);
  EXPECT_EQ(p.graph.info(p.graph.stages[s].results[0]).shape, (std::vector<int64_t>{2, 32, 32, 8}));
  p = scheduled_scatter(std::move(p), s, machine);
  ASSERT_EQ(loops(p, s, LoopKind::Vector).size(), 1u) << print(p);
  EXPECT_EQ(loops(p, s, LoopKind::Vector)[0]->axis, 3u);
  ASSERT_EQ(loops(p, s, LoopKind::Unrolled).size(), 1u);
  EXPECT_EQ(loops(p, s, LoopKind::Unrolled)[0]->axis, 1u);
  EXPECT_EQ(loops(p, s, LoopKind::Unrolled)[0]->trips, 4);
  EXPECT_EQ(loops(p, s, LoopKind::Parallel).size(), 1u);
  const auto moved = [&](int64_t batch, int64_t channels, int64_t side) {
    return rows(batch, channels, side).graph.stages.size() -
           initial_program(image_gradient(batch, channels, side), CpuMachine{4, 256})
               .graph.stages.size();
  };
  EXPECT_EQ(moved(2, 8, 32), 2u);
  EXPECT_EQ(moved(2, 6, 32), 0u) << "no whole pieces";
  EXPECT_EQ(moved(1, 4, 8), 0u) << "too few points";
  EXPECT_EQ(write_scatters_by_rows(plain(embedding_gradient(4000, 256), 4)).graph.stages.size(),
            plain(embedding_gradient(4000, 256), 4).graph.stages.size())
      << "rows are whole, and so are the values";
}

// Parts are taken of an axis that neither rows of the result nor lanes of the values walk, and
// leave no rest.
TEST(ScatterSchedule, PartsKeepTheirRows) {
  const Graph graph = parse_graph(
      "def f(float(2, 36, 65) d, int64(36, 65) I) -> (h) { scatter float(8, 9) h(b * 4 + c, "
      "max(min(I(i, j) + k, 8), 0)) +=[drop] d(b, i, j) where b in 0:2, i in 0:36, j in 0:65, k in "
      "0:24, c in 0:4 }");
  Program p = split_scatters(initial_program(graph, CpuMachine{4, 256}));
  const size_t s = scatter_in(p);
  const Stage& parts = p.graph.stages[s];
  EXPECT_EQ(p.graph.info(parts.results[0]).shape, (std::vector<int64_t>{9, 8, 9}));
  EXPECT_TRUE(parts.domain.is_box()) << print(p.graph);
  expect_faithful(p, graph);
}

TEST(ScatterSchedule, RowsInOneTaskOrMany) {
  for (const auto& [batch, channels] : {std::pair{1, 4}, {1, 16}, {3, 8}}) {
    const Graph graph = image_gradient(batch, channels, 13);
    Program p = initial_program(graph, CpuMachine{4, 256});
    const size_t scatter = scatter_in(p);
    p = scatter_layout(std::move(p), scatter, 1);
    const size_t rows = scatter_in(p);
    p = scheduled_scatter(std::move(p), rows, {.cores = 4, .vector_bits = 256});
    SCOPED_TRACE(print(p));
    expect_faithful(p, graph);
  }
}

TEST(ScatterSchedule, RunningSumsInterleaveRows) {
  const Graph graph = parse_graph(
      "def f(float(64, 400) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:64, j in 0:400, r in "
      "0:400, r <= j }");
  Program p = plain(graph, 4);
  ASSERT_TRUE(running_of(p.graph, p.graph.stages[0]));
  p = scheduled_scatter(std::move(p), 0, kFourCores);
  EXPECT_EQ(loops(p, 0, LoopKind::Unrolled).size(), 1u) << print(p);
  EXPECT_EQ(loops(p, 0, LoopKind::Unrolled)[0]->axis, 0u);
  expect_faithful(p, graph);
}

// Rows go four at a time through one core: a task's share of them is a multiple of that.
TEST(RunningSchedule, TasksTakeWholeGroupsOfRows) {
  for (int64_t rows : {1902, 588, 577, 1024}) {
    const LoweredGraph g(parse_graph(
        "def f(float(" + std::to_string(rows) +
        ", 976) x) -> (y) { y(i, j) +=! x(i, r_k) where i in 0:" + std::to_string(rows) +
        ", j in 0:976, r_k in 0:976, r_k <= j }"));
    ASSERT_EQ(lower_running(LoweredGraph(g)).running.size(), 1u);
    const Program program = default_schedule(g, CpuMachine{2, 512});
    EXPECT_EQ(parallel_depth(program.kernels[0].root), 1u) << rows;
    EXPECT_NO_THROW(verify(program)) << rows;
  }
}

// The lanes and the chains of rows take the whole of an axis: tasks are over another one, if any.
TEST(RunningSchedule, TasksTakeAnAxisThatHasALoop) {
  for (int64_t outer : {1, 2, 64}) {
    const std::string n = std::to_string(outer);
    const Graph g =
        parse_graph("def f(double(" + n +
                    ", 392, 32) x) -> (y) { y(i, j, k) +=! x(i, r_l, k) where i in 0:" + n +
                    ", j in 0:392, k in 0:32, r_l in 0:392, r_l <= j }");
    ASSERT_EQ(lower_running(LoweredGraph(g)).running.size(), 1u);
    const Program program = default_schedule(g, CpuMachine{2, 512});
    EXPECT_NO_THROW(verify(program)) << n;
    EXPECT_EQ(parallel_depth(program.kernels[0].root), outer > 1 ? 1u : 0u) << print(program);
    EXPECT_NO_THROW(chosen_schedule(g, CpuMachine{2, 512})) << n;
  }
}

}  // namespace
}  // namespace adjit::sched
