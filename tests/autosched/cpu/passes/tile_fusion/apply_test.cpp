// Which rows are taken in blocks, and that what they give stays the same.
#include "autosched/cpu/passes/tile_fusion/apply.hpp"

#include "autosched/analysis/task_chains.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RowBlocks, AttentionIsOneChain) {
  const Graph graph = attention(2, 256, 48, 8);
  const Program p = default_schedule(graph, small_caches());
  ASSERT_TRUE(has_move(p, "split_axis")) << print(p);
  const TaskChains chains = task_chains(p);
  size_t chained = 0, kept = 0;
  int64_t in_turn = 1;
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    chained += chains.continues[k];
    in_turn = std::max(in_turn, tasks_in_turn(p, p.kernels[k].root));
  }
  for (size_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.scopes[t] == Scope::Workspace && p.graph.tensors[t].element_count() >= 2 * 256 * 48)
      kept += chains.slices[t] > 0 ? 1 : 100;
  EXPECT_GE(chained, 5u) << print(p);
  EXPECT_GT(in_turn, 1) << print(p);
  EXPECT_GE(kept, 3u);
  EXPECT_LT(kept, 100u) << "what passes between products exists in blocks only\n" << print(p);
  expect_faithful(p, graph);
}

// Shapes that no block divides; many heads, where blocks of a head are all in turn.
TEST(RowBlocks, OfAnyShape) {
  for (const auto& [heads, rows, columns] : {std::tuple{1, 257, 61}, std::tuple{3, 200, 90},
                                             std::tuple{9, 131, 70}, std::tuple{1, 640, 40}}) {
    const Graph graph = attention(heads, rows, columns, 4);
    const Program p = default_schedule(graph, small_caches());
    EXPECT_TRUE(has_move(p, "split_axis")) << heads << " x " << rows << " x " << columns;
    expect_faithful(p, graph);
  }
}

// Distances of points to centres, in the coordinates of each centre, and what comes back from them:
// sums over the points for the centres, of what exists in blocks only.
TEST(RowBlocks, SumsOverTheRowsThatAreNoProducts) {
  const Graph graph = parse_graph(
      "def main(float(1000, 32) x, float(25, 32) m, float(25, 32, 32) q) -> (dx, dm, dq) {\n"
      "  u(p, c, i) +=! q(c, i, r) * (x(p, r) - m(c, r))\n"
      "  d(p, c) +=! u(p, c, r) * u(p, c, r)\n"
      "  e(p, c) = exp(0.0 - d(p, c))\n"
      "  z(p) +=! e(p, r)\n"
      "  v(p, c, i) = u(p, c, i) * (e(p, c) / z(p))\n"
      "  s(c, i) +=! v(r, c, i) where c in 0:25, i in 0:32, r in 0:1000\n"
      "  dm(c, j) +=! s(c, r) * q(c, r, j)\n"
      "  dx(p, j) +=! v(p, r_c, r_i) * q(r_c, r_i, j)\n"
      "  dq(c, i, j) +=! v(r, c, i) * (x(r, j) - m(c, j))\n}");
  CpuMachine machine{2, 512};
  machine.l2_bytes = 1 << 20;
  const Program p = default_schedule(graph, machine);
  ASSERT_TRUE(has_move(p, "split_axis")) << print(p);
  const TaskChains chains = task_chains(p);
  const size_t sums = stage_of(p, "s_parts");
  ASSERT_NE(sums, SIZE_MAX) << print(p);
  const NestPath path = *find_nest(p, sums);
  EXPECT_TRUE(path.steps.empty()) << "in a kernel of its own, not where dm reads it\n" << print(p);
  EXPECT_TRUE(chains.continues[path.kernel]) << print(p);
  EXPECT_GT(chains.slices[p.graph.stages[stage_of(p, "v")].results[0].value], 0) << print(p);
}

TEST(RowBlocks, DoNotDependOnTheCores) {
  const Graph graph = attention(2, 256, 48, 8);
  const auto blocks = [&](int cores) {
    const Program p = default_schedule(graph, small_caches(cores));
    const size_t at = p.moves_json.find("split_axis");
    return at == std::string::npos ? std::string() : p.moves_json.substr(at, 400);
  };
  const std::string with_two = blocks(2);
  EXPECT_NE(with_two, "");
  for (const int cores : {1, 3, 16}) EXPECT_EQ(blocks(cores), with_two) << cores;
}

TEST(RowBlocks, MayBeTurnedDown) {
  const Graph graph = attention(2, 256, 48, 8);
  Choices choices(Answers{{{Decision::TileFusion, "s"}, 1}});
  const Program p = schedule_with(graph, small_caches(), choices);
  EXPECT_FALSE(has_move(p, "split_axis"));
  EXPECT_EQ(std::ranges::count(choices.offers(), Decision::TileFusion,
                               [](const Offer& offer) { return offer.subject.decision; }),
            1);
  expect_faithful(p, graph);
}

}  // namespace
}  // namespace adjit::sched
