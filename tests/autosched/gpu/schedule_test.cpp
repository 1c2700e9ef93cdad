// tests/autosched/gpu/schedule_test.cpp -- the schedule for GPUs: golden prints
// (ADJIT_UPDATE_GOLDEN=1 rewrites the files), and that there is one for every graph.
#include "autosched/gpu/schedule.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "autosched/analysis/verify.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/graphs_for_passes.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/node_order.hpp"
#include "tests/runtime/graph/random_scan.hpp"

namespace adjit::sched {
namespace {

void expect_golden(const std::string& name, const Graph& graph) {
  if (testing::kNodesInAnotherOrder) GTEST_SKIP() << "recorded with g++";
  const Program program = default_schedule(graph, kGpu);
  EXPECT_TRUE(fallbacks_of(program).empty());
  const std::string text = print(program.graph) + "\n" + print(program);
  const std::string path = std::string(ADJIT_TEST_SOURCE_DIR) + "/golden/gpu/" + name + ".txt";
  if (std::getenv("ADJIT_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ostringstream stored;
  stored << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, stored.str()) << "set ADJIT_UPDATE_GOLDEN=1 to accept";
}

TEST(GpuGolden, ElementwiseWithSeveralResults) {
  expect_golden("elementwise", parse_graph(R"(
def f(float(2048, 1024) x, float(1024) b) -> (y, dx, s) {
  t(i, j) = tanh(x(i, j) + b(j))
  y(i, j) = t(i, j) * t(i, j)
  dx(i, j) = 2.0 * t(i, j) * (1.0 - t(i, j) * t(i, j))
  s(i, j) = sqrt(y(i, j) + 1.0)
})"));
}
TEST(GpuGolden, GradientOfASoftmax) {
  expect_golden("softmax_gradient", parse_graph(R"(
def f(float(4096, 1024) y, float(4096, 1024) g) -> (dx) {
  s(i) +=! y(i, r) * g(i, r)
  dx(i, j) = y(i, j) * (g(i, j) - s(i))
})"));
}
TEST(GpuGolden, Product) { expect_golden("product", matmul_graph(1024, 2048, 512)); }
TEST(GpuGolden, Scatter) {
  expect_golden("scatter", parse_graph(R"(
def f(int64(65536) k, float(65536, 512) g) -> (d) {
  scatter float(50000, 512) d(k(p), j) +=![drop] g(p, j) where p in 0:65536, j in 0:512
})"));
}

void expect_scheduled(const Graph& graph, const Program& program) {
  EXPECT_TRUE(fallbacks_of(program).empty()) << fallbacks_of(program).front();
  for (const Kernel& kernel : program.kernels) {
    // What a block computes, or a thread by itself; of a scatter that places sorted points it finds
    // the rank of its point first (invert_scatters.hpp).
    const Stage& root = program.graph.stages[kernel.root.stage];
    const bool places =
        root.kind == StageKind::Scatter && program.graph.distinct.contains(stage_key(root));
    for (const Nest::Attached& attached : kernel.root.attached)
      EXPECT_TRUE(is_block_kernel(kernel) || attached.depth == parallel_depth(kernel.root) ||
                  places);
    EXPECT_EQ(tasks_in_turn(program, kernel.root), 1);
  }
  ASSERT_EQ(print(replay(graph, program.moves_json, program.target)), print(program));
}

void expect_scheduled_for(const Graph& graph, const GpuMachine& machine, uint64_t seed) {
  const Program program = default_schedule(graph, machine);
  expect_scheduled(graph, program);
  testing::expect_same_results(graph, program, seed);
}

TEST(GpuSchedule, MeansTheGraph) {
  for (const Graph& g :
       {matmul_graph(13, 37, 21), matmul_graph(16, 64, 16), matmul_graph(1, 1, 1),
        softmax_graph(9, 21), softmax_graph(40, 32), conv_graph(2, 3, 7, 9, 5),
        conv_graph(1, 4, 8, 8, 18, 2), conv_graph(2, 6, 9, 9, 20, 1, true), chain(1200, 3),
        column_sum_graph(600, 64), total_graph(60, 50), product_graph(20, 40, 110, false, true),
        matmul_graph(0, 5, 4), matmul_graph(5, 0, 4), matmul_graph(5, 4, 0), softmax_graph(0, 4)})
    for (const GpuMachine& machine : {kGpu, kSmallGpu})
      expect_faithful(default_schedule(g, machine), g);
}

// A product and what reads it, of fewer rows or columns than a tile has, or some more.
TEST(GpuSchedule, NothingIsRefusedOfLayersWithFewRowsOrColumns) {
  for (const std::string dtype : {"float", "half"})
    for (int64_t few = 1; few <= 17; ++few)
      for (const bool rows : {true, false}) {
        const std::string m = std::to_string(rows ? few : 256),
                          n = std::to_string(rows ? 256 : few);
        SCOPED_TRACE(dtype + " " + m + " x " + n);
        const Graph graph = parse_graph("def f(" + dtype + "(" + m + ", 48) x, " + dtype + "(48, " +
                                        n + ") w, " + dtype + "(" + n +
                                        ") b) -> (y) {\n  c(i, j) +=! x(i, r) * w(r, j)\n"
                                        "  y(i, j) = max(c(i, j) + b(j), 0.0)\n}");
        for (const GpuMachine& machine : {kGpu, kSlowGpu}) {
          const Program program = default_schedule(graph, machine);
          expect_scheduled(graph, program);
          for (const Kernel& kernel : program.kernels)
            EXPECT_GT(parallel_depth(kernel.root), 0u) << "a thread by itself";
          EXPECT_EQ(program.moves_json.find("pipeline") == std::string::npos, few == 1) << "tiles";
        }
      }
}

TEST(GpuSchedule, IsThereForWhatEachPassOfTheProcessorsIsFor) {
  for (const NamedGraph& one : graphs_for_decisions()) {
    SCOPED_TRACE(one.name);
    for (const GpuMachine& machine : {kGpu, kSmallGpu}) {
      const Program program = default_schedule(one.graph, machine);
      verify(program);
      expect_scheduled(one.graph, program);
    }
  }
}

TEST(GpuSchedule, IsThereForStepsOfScans) {
  const Graph graph = parse_graph(R"(
def f(float(4, 8) h0, float(5, 4, 8) x, float(8, 8) w) -> (h, hs) {
  scan (h, hs) = step[5](carry float(4, 8) c = h0, over float(4, 8) v = x,
                         fixed float(8, 8) u = w) -> (n, n) {
    p(i, j) +=! c(i, r) * u(r, j)
    n(i, j) = tanh(p(i, j) + v(i, j))
  }
})");
  const Program program = default_schedule(graph, kGpu);
  const auto scan = std::ranges::find_if(
      program.kernels, [](const Kernel& kernel) { return kernel.steps != nullptr; });
  ASSERT_NE(scan, program.kernels.end());
  const Program& steps = *scan->steps;
  EXPECT_EQ(steps.calls, 5);
  ASSERT_EQ(steps.kernels.size(), 1u) << "a block computes a row of the product and of its tanh";
  EXPECT_EQ(parallel_depth(steps.kernels[0].root), 1u);
  expect_scheduled_for(graph, kGpu, 1);
}

// Fewer threads exchange less.
TEST(GpuSchedule, BlocksHaveAsManyThreadsAsSharedMemoryServes) {
  const auto threads_with = [](int64_t bytes) {
    const GpuMachine machine{.multiprocessors = 1, .block_shared_bytes = bytes};
    const Graph graph = column_sum_graph(100, 128);
    const Program p = default_schedule(graph, machine);
    EXPECT_LE(shared_bytes(p, p.kernels.back()), bytes);
    expect_faithful(p, graph);
    return block_threads(p.kernels.back());
  };
  EXPECT_EQ(threads_with(64 << 10), 512);
  EXPECT_EQ(threads_with(4 << 10), 256);
  EXPECT_EQ(threads_with(0), 32);
}

// Each step in turn is refused: it is left out and noted, and the rest means the same.
TEST(GpuSchedule, AnyStepMayBeRefused) {
  for (const Graph& graph : {softmax_graph(8, 16), testing::random_scan(3, {.stages = 4})}) {
    Attempts all = Attempts::with_caution();
    Choices usual;
    EXPECT_TRUE(fallbacks_of(cautious_schedule(graph, kSmallGpu, usual, all)).empty());
    for (size_t step = 0; step < all.made(); ++step) {
      Attempts attempts = Attempts::with_caution(step);
      Choices choices;
      const Program program = cautious_schedule(graph, kSmallGpu, choices, attempts);
      EXPECT_EQ(fallbacks_of(program).size(), 1u) << step;
      testing::expect_same_results(graph, program, step);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Two heads of six columns are products; siblings would have no tiles.
TEST(GpuSchedule, ThinProductsOfOneTensorHaveTiles) {
  const Program p = default_schedule(
      parse_graph("def f(float(65536, 1024) x, float(1024, 6) a, float(1024, 6) b) -> (y, z) {\n"
                  "  y(i, j) +=! x(i, k) * a(k, j)\n  z(i, j) +=! x(i, k) * b(k, j)\n}"),
      kGpu);
  EXPECT_EQ(p.kernels.size(), 2u);
  EXPECT_NE(p.moves_json.find("pipeline"), std::string::npos);
}

TEST(GpuSchedule, ShowsItsPasses) {
  std::vector<std::string> seen;
  Choices own;
  schedule_with(softmax_graph(8, 16), kGpu, own,
                [&](const std::string& pass, const Program&) { seen.push_back(pass); });
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "start", "inline parts", "inline", "recompute values", "join sums",
                      "fuse siblings", "rematerialize", "invert scatters", "factor sums",
                      "pack gathers", "fuse columns", "fuse rows", "products", "split prefixes",
                      "split reductions", "fuse epilogues", "schedule kernels", "alias reshapes"}));
}

TEST(GpuSchedule, ComputesAgainWhatIsAskedFor) {
  constexpr int kLayers = 8;
  std::string text = "def main(float(64, 8) x0, float(8, 8) w) -> (g) {\n";
  for (int k = 0; k < kLayers; ++k)
    text += "  x" + std::to_string(k + 1) + "(i, j) +=! tanh(x" + std::to_string(k) +
            "(i, k)) * w(k, j)\n";
  std::string d = "x" + std::to_string(kLayers);
  for (int k = kLayers; k-- > 0; d = "d" + std::to_string(k))
    text += "  d" + std::to_string(k) + "(i, k) +=! " + d + "(i, j) * w(k, j) * cos(x" +
            std::to_string(k) + "(i, k))\n";
  const Graph graph = parse_graph(text + "  g(i, k) = " + d + "(i, k) * 2.0\n}");
  const Rematerialization plan = rematerialization_of(graph, kGpu);
  ASSERT_GT(plan.steps.size(), 1u);
  Choices choices(answers_for(plan, plan.steps.back()));
  const Program program = schedule_with(graph, kGpu, choices);
  EXPECT_GT(program.graph.stages.size(), default_schedule(graph, kGpu).graph.stages.size());
  testing::expect_same_results(graph, program, 1);
}

TEST(GpuRandomGraphs, ScheduleMeansTheGraph) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(200); ++seed) {
    const Graph graph = testing::random_graph(seed, {.stages = 7,
                                                     .max_extent = seed % 3 == 0 ? 17 : 6,
                                                     .scatters = true,
                                                     .custom_combiners = true,
                                                     .zero_extents = seed % 4 == 0,
                                                     .all_dtypes = seed % 5 == 0});
    expect_scheduled_for(graph, seed % 3 == 0 ? kGpu : seed % 3 == 1 ? kSmallGpu : kSlowGpu, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuRandomGraphs, ScheduleOfSeveralReductionsOfTheSameElements) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(60); ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 7, .max_extent = seed % 3 == 0 ? 17 : 6, .reduced_again = true});
    expect_scheduled_for(graph, seed % 3 == 0 ? kGpu : seed % 3 == 1 ? kSmallGpu : kSlowGpu, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuRandomGraphs, ScheduleOfWhatSharesBuffers) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(200); ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 6, .max_extent = seed % 3 == 0 ? 9 : 5, .sharing = true});
    expect_scheduled_for(graph, seed % 2 == 0 ? kSmallGpu : kSlowGpu, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(GpuRandomGraphs, ScheduleOfScans) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(100); ++seed) {
    const Graph graph = testing::random_scan(seed, {.stages = 5, .scatters = seed % 2 == 0});
    expect_scheduled_for(graph, kSmallGpu, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace adjit::sched
