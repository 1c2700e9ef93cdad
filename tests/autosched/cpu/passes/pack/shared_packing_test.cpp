// tests/autosched/cpu/passes/pack/shared_packing_test.cpp -- products that take each other's tiles
// for a copy.
#include "autosched/cpu/passes/pack/shared_packing.hpp"

#include <algorithm>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program with_copies(const std::string& text) {
  CpuMachine machine{2, 512};
  machine.l2_bytes = 2 << 20;
  return default_schedule(parse_graph(text), machine);
}

int64_t copies_of(const Program& p, const std::string& name) {
  return std::ranges::count_if(p.graph.stages, [&](const Stage& stage) {
    return p.graph.info(stage.results[0]).name.starts_with(name + "_packed");
  });
}

// The gradients of a recurrence's two matrices multiply the same gradients by what comes from
// elsewhere and by the caller's own array, whose rows begin anywhere: one copy serves both.
TEST(SharedCopies, OfAnOperandThatTwoProductsShare) {
  const Program p = with_copies(
      "def main(float(64, 32, 512) g, float(64, 32, 128) h, float(64, 32, 128) x) -> (u, v) {\n"
      "  d(s, b, i) = exp(g(s, b, i))\n  e(s, b, j) = exp(h(s, b, j))\n"
      "  u(i, j) +=! d(r_s, r_b, i) * e(r_s, r_b, j)\n"
      "  v(i, j) +=! d(r_s, r_b, i) * x(r_s, r_b, j)\n}");
  EXPECT_EQ(copies_of(p, "d"), 1) << print(p);
  EXPECT_EQ(copies_of(p, "x"), 1) << print(p);
}

TEST(SharedCopies, NotWhereTheOwnTileNeedsNone) {
  const Program p = with_copies(
      "def main(float(512, 512) g, float(512, 128) h, float(128, 512) x) -> (u, v) {\n"
      "  d(r, i) = exp(g(r, i))\n  e(r, j) = exp(h(r, j))\n"
      "  u(i, j) +=! d(r_k, i) * e(r_k, j)\n"
      "  v(i, j) +=! d(r_k, i) * x(j, r_k)\n}");
  EXPECT_EQ(copies_of(p, "x"), 0) << print(p);
}

// Tiles of sums have copies along a reduction that an argmax must take in order.
TEST(SharedCopies, NotByWhatIsNoProduct) {
  const std::string domain = " where h in 0:256, c in 0:32, r_p in 0:3, r_q in 0:4\n";
  const Program p = with_copies(
      "def main(float(258, 4, 32) x, float(258, 4, 32) z, float(32, 3, 4) f) -> (y, m, k) {\n"
      "  y(h, c) +=! x(h + r_p, r_q, c) * f(c, r_p, r_q)" +
      domain + "  (m, k)(h, c) argmax=! (z(h + r_p, r_q, c) * f(c, r_p, r_q), r_q)" + domain + "}");
  EXPECT_TRUE(has_move(p, "unroll"));
}

TEST(SharedCopies, TilesThatAnotherProblemMayNotHave) {
  const LoweredGraph graph(
      parse_graph("def main(float(64, 96) a, float(96, 48) b, double(96, 48) d) -> (s, k, t) {\n"
                  "  s(i, j) +=! a(i, r) * b(r, j)\n"
                  "  (m, k)(i, j) argmax=! (a(i, r) * b(r, j), r)\n"
                  "  t(i, j) +=! double(a(i, r)) * d(r, j)\n}"));
  const auto problem_of = [&](size_t s, const Accesses& accesses) {
    static const CpuMachine machine{.vector_bits = 512};
    return TileProblem{graph, graph.stages[s], accesses, graph.stages[s].domain.extents, machine};
  };
  std::vector<Accesses> accesses;
  for (const Stage& stage : graph.stages) accesses.push_back(accesses_of(graph, stage));
  const TileChoice tile = choose_reduction_tile(problem_of(0, accesses[0]));
  ASSERT_EQ(tile.vector_axis, 1u);
  const auto same = tile_with(problem_of(0, accesses[0]), tile);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->factors, tile.factors);
  EXPECT_EQ(same->cycles, tile.cycles);
  EXPECT_FALSE(tile_with(problem_of(2, accesses[2]), tile)) << "half as many lanes";
  TileChoice steps = tile;
  steps.factors = {1, 1, 3};
  EXPECT_FALSE(tile_with(problem_of(1, accesses[1]), steps)) << "in order, one by one";
  TileProblem tasks = problem_of(0, accesses[0]);
  tasks.task_axes = {1};
  EXPECT_FALSE(tile_with(tasks, tile));
}

}  // namespace
}  // namespace adjit::sched
