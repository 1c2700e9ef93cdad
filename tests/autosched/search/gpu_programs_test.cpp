// tests/autosched/search/gpu_programs_test.cpp -- what the schedule for GPUs offers, and that every
// answer means the graph.
#include "autosched/search/gpu_programs.hpp"

#include <algorithm>
#include <set>

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::sched {
namespace {

Graph prefix_graph(int64_t rows, int64_t columns) {
  const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
  return parse_graph("def f(float(" + shape + ") x) -> (y) {\n y(i, j) +=! x(i, r) where i in 0:" +
                     std::to_string(rows) + ", j in 0:" + std::to_string(columns) +
                     ", r in 0:" + std::to_string(columns) + ", r <= j\n}");
}

Graph table_graph(int64_t points, int64_t rows, int64_t columns) {
  const std::string p = std::to_string(points), r = std::to_string(rows),
                    c = std::to_string(columns);
  return parse_graph("def f(float(" + p + ", " + c + ") g, int64(" + p +
                     ") n) -> (d) {\n  scatter float(" + r + ", " + c +
                     ") d(n(p), c) +=[drop] g(p, c) where p in 0:" + p + ", c in 0:" + c + "\n}");
}

Graph layer_graph(int64_t m, int64_t n, int64_t k) {
  return parse_graph("def f(float(" + std::to_string(m) + ", " + std::to_string(k) + ") x, float(" +
                     std::to_string(k) + ", " + std::to_string(n) + ") w, float(" +
                     std::to_string(n) +
                     ") b) -> (y) {\n  c(i, j) +=! x(i, r) * w(r, j)\n"
                     "  y(i, j) = max(c(i, j) + b(j), 0.0)\n}");
}

Graph two_sums_graph(int64_t rows, int64_t columns) {
  const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
  return parse_graph("def f(float(" + shape + ") x) -> (s, t) {\n  s(i) +=! x(i, k)\n" +
                     "  t(i) +=! x(i, k) * x(i, k)\n}");
}

std::vector<Offer> offers_of(const Graph& graph, const GpuMachine& machine) {
  Choices recording{Answers{}};
  schedule_with(graph, machine, recording);
  return recording.offers();
}

// Of some graph in these, every decision is about one stage or another.
TEST(GpuPrograms, EveryDecisionIsOffered) {
  std::set<Decision> offered;
  for (const Graph& graph :
       {softmax_graph(4096, 1024), matmul_graph(1024, 1024, 1024), layer_graph(1024, 1024, 512),
        matmul_graph(64, 64, 8192), total_graph(4096, 4096), prefix_graph(16, 1 << 20),
        table_graph(65536, 50000, 512), chain(3, 1 << 22), two_sums_graph(4096, 1024)})
    for (const Offer& offer : offers_of(graph, kGpu)) {
      offered.insert(offer.subject.decision);
      EXPECT_EQ(offer.taken, 0u);
    }
  using enum Decision;
  for (const Decision decision : {FuseSiblings, Tile, Rfactor, ComputeAt, Epilogue, SplitPrefix,
                                  Invert, BlockThreads, ThreadLanes})
    EXPECT_TRUE(offered.contains(decision)) << name_of(decision);
}

TEST(GpuPrograms, AreSearchedAndRepeated) {
  const Graph graph = matmul_graph(1024, 1024, 1024);
  const Target gpu = kGpu;
  const std::vector<Candidate> found = search(graph, gpu, {24, 3, 2}),
                               again = search(graph, gpu, {24, 3, 2});
  ASSERT_GT(found.size(), 3u);
  EXPECT_TRUE(found[0].answers.empty());
  EXPECT_EQ(found[0].microseconds, predict(default_schedule(graph, gpu), kGpu).microseconds);
  EXPECT_TRUE(std::ranges::any_of(found, [](const Candidate& one) {
    return one.changes.find("tile of C: ") != std::string::npos;
  }));
  ASSERT_EQ(found.size(), again.size());
  for (size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k].changes, again[k].changes);
  EXPECT_GT(random_candidates(graph, gpu, 4, 1).size(), 1u);
}

struct AnswerCount {
  size_t made = 0, refused = 0;
};

// Each option of each decision by itself, and what the moves of it give again.
AnswerCount expect_every_answer_right(const Graph& graph, const GpuMachine& machine) {
  AnswerCount count;
  GpuPrograms programs(graph, machine);
  const Priced start = programs.start();
  for (const Offer& offer : start.offers)
    for (size_t option = 1; option < offer.options.size(); ++option) {
      const Wanted wanted = changed(start, offer, option);
      SCOPED_TRACE(wanted.changes);
      const Priced* const priced = programs.price(wanted);
      ++(priced == nullptr ? count.refused : count.made);
      if (priced == nullptr) continue;
      const Program program = programs.program(priced->candidate);
      EXPECT_EQ(print(replay(graph, program.moves_json, program.target)), print(program));
      testing::expect_same_results(graph, program, 1);
    }
  return count;
}

TEST(GpuPrograms, EveryAnswerMeansTheGraph) {
  size_t made = 0;
  for (const Graph& graph :
       {softmax_graph(9, 40), matmul_graph(33, 65, 48), layer_graph(32, 48, 40),
        total_graph(60, 50), column_sum_graph(600, 64), prefix_graph(2, 300),
        table_graph(300, 20, 4), chain(3, 1200), matmul_graph(16, 16, 2048), two_sums_graph(9, 40)})
    for (const GpuMachine& machine : {kSmallGpu, kSlowGpu}) {
      const AnswerCount count = expect_every_answer_right(graph, machine);
      made += count.made;
      EXPECT_EQ(count.refused, 0u) << print(graph);
    }
  EXPECT_GE(made, 45u);
}

// Sorted, they have places behind all rows: what they would read is out of range.
TEST(GpuPrograms, PointsOutsideAScattersDomainReadNothing) {
  expect_every_answer_right(
      parse_graph(
          "def f(float(299) x, int64(300) n) -> (d) {\n  scatter float(20) d(n(p)) +=[drop] "
          "x(p - 1) where p in 0:300, p >= 1\n}"),
      kSmallGpu);
}

TEST(GpuPrograms, EveryAnswerMeansRandomGraphs) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(12); ++seed)
    for (const GpuMachine& machine : {kSmallGpu, kSlowGpu})
      expect_every_answer_right(testing::random_graph(seed), machine);
}

}  // namespace
}  // namespace adjit::sched
