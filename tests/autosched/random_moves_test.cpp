// Random graphs under the default schedule and under random legal moves: always the same results.
#include "tests/autosched/random_moves.hpp"
#include "autosched/cpu/schedule.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

void expect_same(const Graph& graph, const Program& program, uint64_t seed) {
  EXPECT_TRUE(fallbacks_of(program).empty()) << "seed " << seed << ": " << program.fallbacks[0];
  testing::expect_same_results(graph, program, seed);
  const Program again = replay(graph, program.moves_json, program.cores, program.vector_bits);
  ASSERT_EQ(print(again), print(program));
}

TEST(RandomGraphs, DefaultScheduleMeansTheGraph) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(60); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 7, .scatters = true, .custom_combiners = true, .zero_extents = seed % 4 == 0});
    expect_same(graph, default_schedule(graph, {2, seed % 2 == 0 ? 512 : 256}), seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, DefaultScheduleOfWhatSharesBuffers) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(250); ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 6, .max_extent = seed % 3 == 0 ? 9 : 5, .sharing = true});
    expect_same(graph, default_schedule(graph, {2, seed % 2 == 0 ? 512 : 256}), seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, EveryLegalMoveOfWhatSharesBuffers) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(250); ++seed) {
    const Graph graph =
        testing::random_graph(seed, {.stages = 5, .max_extent = 5, .sharing = true});
    expect_same(graph, testing::random_program(graph, seed, 40), seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, EveryLegalMoveMeansTheGraph) {
  size_t made = 0;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(80); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 5, .scatters = true, .custom_combiners = true, .zero_extents = seed % 8 == 0});
    const Program program = testing::random_program(graph, seed, 40, &made);
    expect_same(graph, program, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(made, testing::fuzz_cases(80));
}

}  // namespace
}  // namespace adjit::sched
