// tests/autosched/moves/random_blocks_test.cpp -- random moves that make blocks of threads keep the
// meaning of random graphs.
#include "tests/autosched/random_blocks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/autosched/mutated_moves.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Programs by what is in one of their block kernels.
using Kinds = std::map<std::string, size_t>;

void count_below(const Program& program, const Nest& nest, RunBy by, Kinds& found) {
  const Stage& stage = program.graph.stages[nest.stage];
  const bool tile = tile_begin(nest) < nest.loops.size();
  const bool together = is_cooperative(stage, nest);
  const size_t first = first_thread_loop(nest);
  if (by == RunBy::Block) {
    ++found["of the block"];
    found["of thread 0"] += threads_of(nest) == 1;
    found["of several thread loops"] += threads_of(nest) > 1 && first + 1 < tile_begin(nest);
    found["with a tile"] += threads_of(nest) > 1 && tile;
    found["reduced together"] += together;
    found["reduced together, with a tile"] += together && tile;
    for (size_t l = 0; l < nest.loops.size(); ++l) {
      const bool reduces = nest.loops[l].axis >= stage.domain.output_rank;
      found["reduced together, in steps"] += together && l < first && reduces;
      found["over the reduction"] += nest.loops[l].kind == LoopKind::Thread && reduces;
    }
    found["in tasks"] += parallel_depth(nest) > 0;
    found["in several buffers"] += nest.buffers > 1;
    bool past_the_end = false;
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      past_the_end |= takes_whole_tiles(stage, nest, a);
    found["with tiles past the end"] += past_the_end;
  } else {
    found["of a thread"] += !nest.loops.empty();
    found["of a thread, with a tile"] += tile;
  }
  for (const Nest::Attached& attached : nest.attached) {
    const RunBy its = attached_run_by(by, nest, attached.depth);
    const bool local =
        program.scopes[program.graph.stages[attached.nest.stage].results[0].value] == Scope::Local;
    found["shared"] += its == RunBy::Block && local && threads_of(nest) > 1;
    found["shared, by several"] +=
        its == RunBy::Block && local && threads_of(nest) > 1 && threads_of(attached.nest) > 1;
    found["attached, in memory"] += !local;
    found["attached to what reduces together"] += its == RunBy::Block && together;
    count_below(program, attached.nest, its, found);
  }
}

void expect_faithful_blocks(const Graph& graph, uint64_t seed, Kinds& found) {
  const Program program = testing::random_block_program(graph, seed, 150);
  for (const Kernel& kernel : program.kernels)
    if (is_block_kernel(kernel)) count_below(program, kernel.root, RunBy::Block, found);
  testing::expect_same_results(graph, program, seed);
  const Program again = replay(graph, program.moves_json, program.target);
  ASSERT_EQ(print(again), print(program));
}

TEST(RandomBlocks, EveryLegalMoveMeansTheGraph) {
  Kinds found;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(400); ++seed) {
    const Graph graph = testing::random_graph(seed, {.stages = 4,
                                                     .max_extent = seed % 2 == 0 ? 6 : 17,
                                                     .scatters = seed % 7 == 0,
                                                     .custom_combiners = seed % 7 == 1,
                                                     .zero_extents = seed % 8 == 0,
                                                     .sharing = seed % 5 == 0});
    expect_faithful_blocks(graph, seed, found);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(found.size(), 17u);
  for (const auto& [kind, count] : found) EXPECT_GT(count, 0u) << kind;
}

TEST(RandomBlocks, MutatedSchedulesAreRefusedOrMeanTheGraph) {
  size_t refused = 0, taken = 0;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(1000); ++seed) {
    const Graph graph = testing::random_graph(seed / 8, {.stages = 4, .scatters = seed % 3 == 0});
    const std::string moves = testing::MutatedMoves(
        testing::random_block_program(graph, seed / 8, 100).moves_json, seed)();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + moves);
    try {
      const Program program = replay(graph, moves, GpuMachine());
      ++taken;
      if (testing::is_quick(program)) testing::expect_same_results(graph, program, seed);
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.code(), ErrorCode::Schedule) << error.what();
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(refused, testing::fuzz_cases(1000) / 4);
  EXPECT_GT(taken, testing::fuzz_cases(1000) / 8);
}

}  // namespace
}  // namespace adjit::sched
