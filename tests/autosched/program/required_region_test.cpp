// tests/autosched/program/required_region_test.cpp -- which part of a tensor outer loops read,
// against enumeration.
#include "autosched/program/required_region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Sizes = std::vector<int64_t>;

// The example of the header: the columns of a tile of B, in all rows.
TEST(RequiredRegion, OfAProductsTileAreThePanelsOfItsOperands) {
  Program p = tile(plain(matmul_graph(24, 64, 10)), 0, 1, Sizes{32});
  p = tile(std::move(p), 0, 0, Sizes{12});
  const Nest& nest = p.kernels[0].root;
  std::vector<size_t> order(nest.loops.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  // i/12, j/32 outermost.
  std::ranges::stable_sort(order, {}, [&](size_t l) { return nest.loops[l].step > 1 ? 0 : 1; });
  p = reorder(std::move(p), 0, order);
  const Nest& now = p.kernels[0].root;
  const Region b = read_region(p, {0, {}}, 2, p.graph.inputs[1]);
  EXPECT_EQ(b.spans, (Sizes{10, 32}));
  EXPECT_EQ(b.base[0], Affine());
  const Loop& columns = now.loops[0].axis == 1 ? now.loops[0] : now.loops[1];
  EXPECT_EQ(b.base[1], Affine::variable(columns.variable));
  EXPECT_EQ(read_region(p, {0, {}}, 0, p.graph.inputs[1]).spans, (Sizes{10, 64}))
      << "outside all loops the whole tensor";
}

TEST(RequiredRegion, WindowsReachOverTheTileAndStopAtTheTensor) {
  const Graph g = parse_graph(
      "def f(float(40) x) -> (y) {\n t(i) = exp(x(i))\n"
      " y(i) +=! t(i + r) where i in 0:36, r in 0:5\n}");
  const Program p = tile(plain(g), 1, 0, Sizes{12});
  const Region region = read_region(p, {1, {}}, 1, size_t{0});
  EXPECT_EQ(region.spans, Sizes{16});
  EXPECT_EQ(region.base[0], Affine::variable(p.kernels[1].root.loops[0].variable));
  const Region whole = read_region(p, {1, {}}, 0, size_t{0});
  EXPECT_EQ(whole.spans, Sizes{40});
}

TEST(RequiredRegion, ReadsThatMoveDifferentlyOrDivideTakeAllOfADimension) {
  for (const char* read : {"t(i) + t(39 - i)", "t(i // 2)", "t(i % 7)", "t(n(i))"}) {
    const Graph g = parse_graph(
        std::string("def f(float(40) x, int64(40) n) -> (y) {\n t(i) = exp(x(i))\n y(i) = ") +
        read + " where i in 0:40\n}");
    const Region region = read_region(plain(g), {1, {}}, 1, size_t{0});
    EXPECT_EQ(region.spans, Sizes{40}) << read;
    EXPECT_EQ(region.base[0], Affine()) << read;
  }
}

TEST(RequiredRegion, WhatIsNotReadHasNone) {
  const Program p = plain(softmax_graph(6, 9));
  EXPECT_EQ(read_region(p, {0, {}}, 1, size_t{2}).spans, (Sizes{0})) << "m reads no sums";
}

// Every element that an iteration of the outer loops reads lies in the region.
TEST(RequiredRegion, HoldsEveryElementThatIsRead) {
  const Graph g = parse_graph(
      "def f(float(30, 20) x) -> (y) {\n t(i, j) = exp(x(i, j))\n"
      " y(i, j) +=! t(2 * i + r, j + 3) * t(2 * i, j + s)"
      " where i in 0:14, j in 0:15, r in 0:3, s in 0:6\n}");
  const Program p = tile(tile(plain(g), 1, 1, Sizes{4}), 1, 0, Sizes{5});
  const Nest& nest = p.kernels[1].root;
  for (size_t depth = 0; depth <= nest.loops.size(); ++depth) {
    const Region region = read_region(p, {1, {}}, depth, size_t{0});
    std::vector<int64_t> variables(p.kernels[1].variable_count, 0);
    int64_t checked = 0;
    // All values of the loops' variables, the inner ones included.
    const std::function<void(size_t)> walk = [&](size_t l) {
      if (l < nest.loops.size()) {
        for (int64_t t = 0; t < nest.loops[l].trips; ++t) {
          variables[nest.loops[l].variable] = t * nest.loops[l].step;
          walk(l + 1);
        }
        return;
      }
      std::vector<int64_t> axes(4, 0);
      for (const Loop& loop : nest.loops) axes[loop.axis] += variables[loop.variable];
      for (size_t a = 0; a < 4; ++a)
        if (axes[a] >= g.stages[1].domain.extents[a]) return;
      const int64_t reads[2][2] = {{2 * axes[0] + axes[2], axes[1] + 3},
                                   {2 * axes[0], axes[1] + axes[3]}};
      for (const auto& read : reads)
        for (size_t d = 0; d < 2; ++d) {
          const int64_t from = evaluate(region.base[d], variables);
          ASSERT_GE(read[d], from) << "depth " << depth;
          ASSERT_LT(read[d], from + region.spans[d]) << "depth " << depth;
        }
      ++checked;
    };
    // Bases are over the outer loops' variables only.
    for (size_t d = 0; d < 2; ++d)
      for (size_t l = depth; l < nest.loops.size(); ++l)
        EXPECT_EQ(region.base[d].coefficient(nest.loops[l].variable), 0);
    walk(0);
    EXPECT_EQ(checked, 14 * 15 * 3 * 6);
  }
}

TEST(RequiredRegion, ThatANestComputesCoversWhatIsRead) {
  const Graph g = softmax_graph(12, 10);
  Program p = compute_at(compute_at(plain(g), 2, 3, 1), 1, 3, 1);
  std::string which;
  const size_t kernel = find_nest(p, 3)->kernel;
  EXPECT_TRUE(regions_cover_reads(p, kernel, &which));
  EXPECT_EQ(placed_region(p, nest_of(p, 1)).spans, (Sizes{1, 10}));
  p.kernels[kernel].root.attached[0].nest.spans[1] = 9;
  EXPECT_FALSE(regions_cover_reads(p, kernel, &which));
  EXPECT_EQ(which, "e");
}

TEST(RequiredRegion, LocalTensorsStayWithTheirHost) {
  Program p = plain(softmax_graph(12, 10));
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  std::string which;
  EXPECT_TRUE(locals_stay_inside(p, &which));
  Nest& root = p.kernels[0].root;
  ASSERT_EQ(root.attached[1].nest.stage, 1u);
  root.attached[1].depth = 2;  // e, which the sums read outside the inner loop
  EXPECT_FALSE(locals_stay_inside(p, &which));
  EXPECT_EQ(which, "e");
}

TEST(RequiredRegion, APlacedNestHasLoopsOverAxesOfSeveralPoints) {
  const LoweredGraph g(softmax_graph(12, 10));
  uint32_t variables = 4;
  const Region region{{Affine::variable(2), Affine()}, {1, 10}};
  const Nest nest = placed_nest(g, 1, region, variables);
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_EQ(nest.loops[0].axis, 1u);
  EXPECT_GE(nest.loops[0].variable, 4u);
  EXPECT_EQ(nest.axis_base[0], Affine::variable(2));
  EXPECT_GT(variables, nest.loops[0].variable);
}

TEST(TasksSharing, CountsThoseBehindADepthThatRunAtOnce) {
  const Program rows = parallel(plain_on_gpu(matmul_graph(4, 5, 6)), 0, 2);
  const Nest& nest = rows.kernels[0].root;
  EXPECT_EQ(tasks_sharing(rows, nest, 0), 20);
  EXPECT_EQ(tasks_sharing(rows, nest, 1), 5);
  EXPECT_EQ(tasks_sharing(rows, nest, 2), 1);
  // The parts of a reduction run in turn.
  const Program in_turn = parallel(plain_on_gpu(matmul_graph(4, 5, 6)), 0, 3);
  EXPECT_EQ(tasks_sharing(in_turn, in_turn.kernels[0].root, 1), 5);
  EXPECT_EQ(tasks_sharing(in_turn, in_turn.kernels[0].root, 2), 1);
}

}  // namespace
}  // namespace adjit::sched
