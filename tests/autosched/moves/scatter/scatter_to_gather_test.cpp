// tests/autosched/moves/scatter/scatter_to_gather_test.cpp -- scatters as sums that each element
// makes.
#include <gtest/gtest.h>

#include <string>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/autosched/scattered_tables.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::sched {
namespace {

Program gathered(const Graph& graph) {
  const Program p = plain(graph);
  return scatter_to_gather(p, scatter_in(p));
}

const Stage& last(const Program& program) { return program.graph.stages.back(); }

TEST(ScatterToGather, MeansTheSame) {
  for (const char* how :
       {"+=[drop]", "*=[drop]", "max=[drop]", "min=[drop]", "+=[clip]", "+=[wrap]"})
    for (const char* start : {"", " from d0"}) {
      const Graph graph = table(29, 6, how, start);
      const Program program = gathered(graph);
      verify(program);
      for (const Spread spread : kSpreads) {
        const std::vector<Array> inputs = inputs_of(graph, 6, spread);
        expect_close(interpret(graph, inputs), interpret(program, inputs));
      }
      expect_faithful(program, graph);
    }
}

// Started from nothing it is one reduction; else a stage adds what it starts from.
TEST(ScatterToGather, IsOneReductionWhereItStartsFromNothing) {
  const Program program = gathered(table(29, 6));
  EXPECT_EQ(program.graph.stages.size(), 1u);
  EXPECT_EQ(last(program).domain.output_rank, 2u);
  EXPECT_EQ(last(program).domain.extents, (std::vector<int64_t>{6, 3, 29}));
  EXPECT_EQ(gathered(table(29, 6, "+=[drop]", " from d0")).graph.stages.size(), 3u)
      << "a copy of what it starts from, the reduction, their sum";
}

// Points of 32 columns go to one cell: 2 * 32 of 256 remain, and every cell has those of its own.
TEST(ScatterToGather, FormsOfAxesSayWhichPointsAnElementHas) {
  const Graph graph = parse_graph(
      "def f(float(256) x, int64(256) n) -> (h) {\n"
      "  scatter float(3, 9) h(n(i), (i + 16) // 32 + p) +=[drop] x(i) where i in 0:256, p in "
      "0:1\n}");
  const Program program = gathered(graph);
  EXPECT_EQ(last(program).domain.extents, (std::vector<int64_t>{3, 9, 32}));
  EXPECT_EQ(compared_dimensions(graph, graph.stages.back()), std::vector<size_t>{0});
  expect_faithful(program, graph);
}

TEST(ScatterToGather, PointsOutOfTheDomainAreNotLookedAt) {
  expect_faithful(
      gathered(parse_graph("def f(float(7) x, int64(9) n) -> (h) {\n  scatter float(4) h(n(i)) "
                           "+=[drop] x(i - 2) where i in 0:9, i >= 2\n}")),
      parse_graph("def f(float(7) x, int64(9) n) -> (h) {\n  scatter float(4) h(n(i)) +=[drop] "
                  "x(i - 2) where i in 0:9, i >= 2\n}"));
}

TEST(ScatterToGather, RefusesWhatTellsTheOrderOfPoints) {
  expect_refused([] { gathered(table(9, 5, "=[drop]")); }, "tells the order");
  expect_refused([] { scatter_to_gather(inverted(table(9, 5, "+=[drop]", " from d0"), 4), 0); },
                 "that is no scatter");
}

TEST(ScatterToGather, RandomScatters) {
  size_t made = 0;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(150); ++seed) {
    const Graph graph =
        testing::random_graph(seed, {.stages = 5, .max_extent = 5, .scatters = true});
    Program program = plain(graph);
    for (size_t s = program.graph.stages.size(); s-- > 0;) {
      try {
        program = scatter_to_gather(program, s);
        ++made;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::Schedule) throw;
      }
    }
    testing::expect_same_results(graph, program, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(made, 50u);
}

}  // namespace
}  // namespace adjit::sched
