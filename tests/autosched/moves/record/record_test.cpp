// tests/autosched/moves/record/record_test.cpp -- moves that refuse with a reason or are recorded.
#include "autosched/moves/record/record.hpp"

#include <gtest/gtest.h>

#include "autosched/program/limits.hpp"
#include "runtime/process/json.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(MoveRecord, MovesAreAppendedAsJsonThatReadsBack) {
  Program p = plain(matmul_graph(4, 5, 6));
  const Move move = begin_move("tile", p, 0);
  move.record({{"axis", 1}, {"steps", {2}}});
  move.record({{"axis", 0}});
  append_move(p, {{"move", "eager_outputs"}});
  const Json moves = Json::parse(p.moves_json);
  ASSERT_EQ(moves.size(), 3u);
  EXPECT_EQ(moves[0], Json::parse(R"({"move": "tile", "stage": "C", "axis": 1, "steps": [2]})"));
  EXPECT_EQ(moves[1].at("axis"), 0);
  EXPECT_EQ(moves[2], Json::parse(R"({"move": "eager_outputs"})"));
}

TEST(MoveRecord, RefusalsNameTheMoveAndItsStage) {
  Program p = plain(matmul_graph(4, 5, 6));
  const Move move = begin_move("tile", p, 0);
  expect_refused([&] { move.refuse("no reason"); }, "tile of 'C': no reason");
  expect_refused([&] { move.require(false, "it must"); }, "tile of 'C': it must");
  EXPECT_NO_THROW(move.require(true, "it must"));
  expect_refused([&] { begin_move("tile", p, 1); }, "tile: there is no stage 1");
}

TEST(MoveRecord, ThreadLoopsThatMayNotBeAreRefusedWithTheirStage) {
  Program p = plain_on_gpu(matmul_graph(4, 5, 6));
  const Move move = begin_move("tile", p, 0);
  p.kernels[0].root.loops[2].kind = LoopKind::Thread;
  EXPECT_NO_THROW(move.require_threads(p.kernels[0]));
  std::swap(p.kernels[0].root.loops[0], p.kernels[0].root.loops[2]);
  expect_refused([&] { move.require_threads(p.kernels[0]); }, "tile of 'C': threads reduce");
  Program rows = plain_on_gpu(softmax_graph(4, 5));
  rows.kernels[3].root.loops[0].trips = 0;
  rows.kernels[3].root.loops[0].kind = LoopKind::Thread;
  expect_refused([&] { begin_move("tile", rows, 0).require_threads(rows.kernels[3]); },
                 "tile of 'm': 'y': a thread loop has no trips");
}

TEST(MoveRecord, AStageWithOthersAttachedHasNoKernelOfItsOwn) {
  const Graph g = softmax_graph(6, 9);
  Program p = compute_at(plain(g), 2, 3, 1);
  EXPECT_EQ(begin_move("x", p, 0).own_kernel("why"), 0u);
  expect_refused([&] { begin_move("x", p, 2).own_kernel("why not"); }, "why not");
  expect_refused([&] { begin_move("x", p, 3).own_kernel("why not"); }, "why not");
  const Program inlined = inline_stages(plain(g), std::vector<size_t>{1});
  EXPECT_EQ(inlined.graph.stages.size(), 3u);
}

TEST(MoveRecord, WhereResultsLieInPlaceOnlyLoopsAreMoved) {
  Program p = plain(matmul_graph(4, 5, 6));
  p.in_place = 1;
  for (const char* name : {"tile", "reorder", "vectorize", "unroll", "parallel", "threads",
                           "store_nontemporal", "prefetch", "alias_reshape", "pipeline"})
    EXPECT_NO_THROW(begin_move(name, p, 0)) << name;
  for (const char* name : {"inline", "pack", "rfactor", "compute_at"})
    expect_refused([&] { begin_move(name, p, 0); }, "results lie in place of others");
}

TEST(MoveRecord, ANestHasALimitOfLoops) {
  Program p = plain(matmul_graph(4, 5, 6));
  const Move move = begin_move("tile", p, 0);
  Nest& nest = p.kernels[0].root;
  while (nest.loops.size() < kLoopLimit) move.split(nest, p.kernels[0].variable_count, 0, 1);
  expect_refused([&] { move.split(nest, p.kernels[0].variable_count, 0, 1); },
                 std::to_string(kLoopLimit) + " loops already");
}

}  // namespace
}  // namespace adjit::sched
