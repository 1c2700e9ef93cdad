// Schedules with something wrong in them: refused as schedules, or legal and of the same meaning.
#include <cmath>
#include <optional>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/cpu/schedule.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/mutated_moves.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

struct Counts {
  size_t refused = 0, taken = 0;
};

void expect_refused_or_faithful(const Graph& graph, const std::string& moves, uint64_t seed,
                                Counts& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + moves);
  std::optional<Program> program;
  try {
    program = replay(graph, moves, 2, 512);
  } catch (const Error& error) {
    ++counts.refused;
    ASSERT_EQ(error.code(), ErrorCode::Schedule) << error.what();
    return;
  }
  ++counts.taken;
  ASSERT_TRUE(std::isfinite(predict(*program, kTwoCores).microseconds));
  testing::expect_same_results(graph, *program, seed);
}

TEST(ReplayFuzz, MutatedDefaultSchedules) {
  Counts counts;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(2000); ++seed) {
    const Graph graph = testing::random_graph(
        seed / 8, {.stages = 4, .max_extent = 20, .scatters = true, .custom_combiners = true});
    const Program made = default_schedule(graph, kTwoCores);
    expect_refused_or_faithful(graph, testing::MutatedMoves(made.moves_json, seed)(), seed, counts);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.refused, testing::fuzz_cases(2000) / 4);
  EXPECT_GT(counts.taken, testing::fuzz_cases(2000) / 8);
}

TEST(ReplayFuzz, MutatedRandomSchedules) {
  Counts counts;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(2000); ++seed) {
    const Graph graph = testing::random_graph(seed / 8, {.stages = 4, .scatters = true});
    const Program made = testing::random_program(graph, seed / 8, 40);
    expect_refused_or_faithful(graph, testing::MutatedMoves(made.moves_json, seed)(), seed, counts);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.refused, testing::fuzz_cases(2000) / 4);
  EXPECT_GT(counts.taken, testing::fuzz_cases(2000) / 8);
}

}  // namespace
}  // namespace adjit::sched
