// tests/autosched/cpu/passes/loops/order_test.cpp -- the order of loops outside a register tile.
#include "autosched/cpu/passes/loops/order.hpp"

#include <gtest/gtest.h>

#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A product of one core in a tile of 12 x 2 vectors of 16.
struct TiledProduct {
  explicit TiledProduct(int64_t m, int64_t n, int64_t k) : graph(matmul_graph(m, n, k)) {
    plan.tile.vector_axis = 1;
    plan.tile.lanes = 16;
    plan.tile.factors = {12, 2, 1};
    program = apply_tile(plain(graph, 1), 0, plan.tile);
  }
  Accesses accesses() const { return accesses_of(program.graph, graph.stages[0]); }
  // Axes of the loops outside the tile, outermost first.
  static std::vector<size_t> axes(const Program& p) {
    const Nest& nest = nest_of(p, 0);
    std::vector<size_t> found;
    for (size_t l = 0; l < tile_begin(nest); ++l) found.push_back(nest.loops[l].axis);
    return found;
  }

  Graph graph;
  ReductionPlan plan;
  Program program;
};
using Axes = std::vector<size_t>;

TEST(OrderLoops, LongReductionsGoInBlocksOfAbout512) {
  for (const auto& [length, step] : {std::pair{1600, 400}, {2000, 512}, {4096, 512}}) {
    TiledProduct product(96, 64, length);
    const Program p = block_reduction(product.program, 0, product.plan, product.accesses());
    const std::vector<size_t> loops = loops_over(nest_of(p, 0), 2);
    ASSERT_EQ(loops.size(), 2u) << length;
    const int64_t block = nest_of(p, 0).loops[loops[0]].step;
    EXPECT_EQ(block % 16, 0);
    EXPECT_NEAR(static_cast<double>(block), static_cast<double>(step), 128) << length;
  }
}

TEST(OrderLoops, ShortReductionsStayWhole) {
  TiledProduct product(96, 64, 300);
  EXPECT_EQ(block_reduction(product.program, 0, product.plan, product.accesses()).moves_json,
            product.program.moves_json);
}

TEST(OrderLoops, ReductionsAreTakenInThePlannedSteps) {
  TiledProduct product(96, 64, 300);
  product.plan.streamed_steps = 100;
  const Program p = block_reduction(product.program, 0, product.plan, product.accesses());
  EXPECT_EQ(nest_of(p, 0).loops[loops_over(nest_of(p, 0), 2)[0]].step, 100);
}

TEST(OrderLoops, BlocksOfTheReductionGoOutsideTheResults) {
  TiledProduct product(24, 64, 1600);
  Program p = block_reduction(product.program, 0, product.plan, product.accesses());
  Choices choices;
  p = order_outputs(std::move(p), 0, product.plan, product.accesses(), kOneCore, false, choices);
  const Axes order = TiledProduct::axes(p);
  EXPECT_EQ(order.front(), 2u);
  EXPECT_EQ(order.back(), 2u) << "the steps of a block innermost";
  EXPECT_EQ(order, (Axes{2, 1, 0, 2})) << "columns outside rows";
  expect_faithful(p, product.graph);
}

TEST(OrderLoops, RowsThatLeaveTheSecondCacheStayOutsideTheColumns) {
  TiledProduct product(1200, 640, 400);
  Choices choices;
  const auto order = [&](int64_t l2_bytes, bool ordered) {
    CpuMachine machine = kOneCore;
    machine.l2_bytes = l2_bytes;
    return TiledProduct::axes(order_outputs(product.program, 0, product.plan, product.accesses(),
                                            machine, ordered, choices));
  };
  EXPECT_EQ(order(8 << 20, false), (Axes{1, 0, 2}));
  EXPECT_EQ(order(256 << 10, false), (Axes{0, 1, 2}));
  EXPECT_EQ(order(8 << 20, true), (Axes{0, 1, 2})) << "they are ordered already";
}

TEST(OrderLoops, TheOrderIsADecision) {
  TiledProduct product(96, 640, 40);
  Choices choices(Answers{{{Decision::Order, "C"}, 1}});
  const Program p =
      order_outputs(product.program, 0, product.plan, product.accesses(), kOneCore, false, choices);
  EXPECT_EQ(TiledProduct::axes(p), (Axes{0, 1, 2}));
  ASSERT_EQ(choices.offers().size(), 1u);
}

TEST(OrderLoops, PartsOfSumsDownColumnsTakeTheirReductionOutside) {
  const LoweredGraph graph(
      parse_graph("def f(float(4, 1000, 64) x) -> (y) { y(p, j) +=! x(p, r, j) }"));
  ReductionPlan plan;
  plan.tile.vector_axis = 1;
  plan.tile.lanes = 16;
  plan.tile.factors = {1, 2, 1};
  plan.reduction_outside = true;
  Program p = apply_tile(plain(graph, 1), 0, plan.tile);
  Choices choices;
  p = order_outputs(std::move(p), 0, plan, accesses_of(graph, graph.stages[0]), kOneCore, false,
                    choices);
  EXPECT_EQ(TiledProduct::axes(p), (Axes{0, 2, 1})) << "parts stay outermost";
}

TEST(OrderLoops, HalfTheSecondCacheHoldsTheRowsOperand) {
  TiledProduct product(1200, 640, 400);
  CpuMachine machine = kOneCore;
  const int64_t rows =
      rows_in_cache(product.graph.stages[0], product.plan.tile, product.accesses(), machine);
  EXPECT_NEAR(static_cast<double>(rows * 12 * 400 * 4), static_cast<double>(machine.l2_bytes) / 2,
              12 * 400 * 4);
  machine.l2_bytes = 1 << 10;
  EXPECT_EQ(rows_in_cache(product.graph.stages[0], product.plan.tile, product.accesses(), machine),
            4)
      << "at least";
  const LoweredGraph sum(total_graph(100, 100));
  EXPECT_EQ(
      rows_in_cache(sum.stages[0], product.plan.tile, accesses_of(sum, sum.stages[0]), machine),
      INT64_MAX)
      << "no product";
}

TEST(OrderLoops, PanelsArePackedOutsideTheRows) {
  TiledProduct product(96, 640, 40);
  const Program p = panels_outside_rows(product.program, 0, product.plan.tile, product.accesses());
  EXPECT_EQ(TiledProduct::axes(p), (Axes{1, 0, 2}));
  expect_faithful(p, product.graph);
}

}  // namespace
}  // namespace adjit::sched
