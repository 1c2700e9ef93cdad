// tests/jit/emit/shape/nest_shape_test.cpp -- what the loops of a nest are to its emitter.
#include "jit/emit/shape/nest_shape.hpp"

#include <gtest/gtest.h>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::NestShape;
using emit::TileInstance;

// C(30, 40) += A(30, 6) B(6, 40): i in blocks of 12, of them 4 unrolled; vectors of 8, two
// unrolled.
Program tiled_product() {
  Program p = vectorize(plain(matmul_graph(30, 40, 6)), 0, 1, 8);
  p = tile(std::move(p), 0, 0, std::vector<int64_t>{12});
  p = unroll(std::move(p), 0, 0, 4);
  return unroll(std::move(p), 0, 1, 2);
}

TEST(NestShape, LoopsAreSortedIntoReductionAndTile) {
  const Program p = tiled_product();
  const NestShape shape(p, p.kernels[0].root);
  const auto& loops = shape.nest->loops;
  ASSERT_EQ(shape.tile_begin, loops.size() - 3) << print(p);
  EXPECT_EQ(shape.lane_loop, loops.size() - 1);
  EXPECT_EQ(shape.lanes, 8u);
  EXPECT_EQ(shape.unrolled_loops, (std::vector<size_t>{shape.tile_begin, shape.tile_begin + 1}));
  EXPECT_EQ(shape.reduction_begin, shape.tile_begin - 1) << "r_k carries the accumulators";
  EXPECT_TRUE(shape.is_reduction(loops[shape.reduction_begin]));
  EXPECT_FALSE(shape.lanes_in_reduction());
  EXPECT_EQ(shape.tile_points, (std::vector<int64_t>{4, 16, 0}));
  for (size_t l = 0; l < shape.reduction_begin; ++l)
    EXPECT_EQ(shape.covers_tile(l), loops[l].step == (loops[l].axis == 0 ? 4 : 16)) << l;
}

TEST(NestShape, InstancesLieInsideTheLimits) {
  const Program p = tiled_product();
  const NestShape shape(p, p.kernels[0].root);
  for (const int64_t rows : {1, 3, 4})
    for (const int64_t columns : {1, 8, 11, 16}) {
      const std::vector<int64_t> limits{rows, columns, 0};
      std::vector<std::pair<int64_t, int64_t>> expected, found;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; j += 8) expected.emplace_back(i, j);
      for (const TileInstance& one : shape.instances(limits, false)) {
        found.emplace_back(shape.offset_along(0, one), shape.offset_along(1, one));
        EXPECT_EQ(one.live_lanes, std::min<int64_t>(8, columns - found.back().second));
        EXPECT_EQ(one.number, static_cast<uint64_t>(found.back().first) |
                                  static_cast<uint64_t>(found.back().second / 8) << 8);
      }
      EXPECT_EQ(found, expected) << rows << " x " << columns;
    }
  EXPECT_EQ(shape.instances(shape.tile_points, true).size(), 1u) << "none is of the reduction";
  EXPECT_EQ(shape.instance_trips(std::vector<int64_t>{3, 16, 0}), (std::vector<int64_t>{3, 0}))
      << "two loops of the tile are over j";
}

// Lanes along a reduction: each of its unrolled instances has an accumulator.
TEST(NestShape, ChainsAreTheInstancesAlongTheLanesOfAReduction) {
  Program p = vectorize(plain(matmul_graph(3, 4, 64)), 0, 2, 8);
  p = unroll(std::move(p), 0, 2, 4);
  p = unroll(std::move(p), 0, 0, 3);
  const NestShape shape(p, p.kernels[0].root);
  EXPECT_TRUE(shape.lanes_in_reduction());
  EXPECT_EQ(shape.chain_count(shape.tile_points), 4u);
  const std::vector<TileInstance> along = shape.instances(shape.tile_points, true);
  const std::vector<TileInstance> rows = shape.instances(shape.tile_points, false);
  ASSERT_EQ(along.size(), 4u);
  ASSERT_EQ(rows.size(), 3u);
  for (size_t k = 0; k < along.size(); ++k) {
    EXPECT_EQ(shape.chain_of(along[k]), k);
    const TileInstance both = shape.combined(rows[2], along[k]);
    EXPECT_EQ(shape.offset_along(0, both), 2);
    EXPECT_EQ(shape.offset_along(2, both), static_cast<int64_t>(8 * k));
    EXPECT_EQ(both.number, rows[2].number | along[k].number);
  }
}

TEST(NestShape, FormsDependOnLoopsThroughDivisions) {
  const Graph graph = parse_graph(
      "def f(float(4, 6) x) -> (y) {\n"
      "  y(i) +=! x(i, r_j) where i in 0:4, r_j in 0:6, q0 = r_j // 2, q0 <= i\n}");
  const Program p = plain(graph);
  const NestShape shape(p, p.kernels[0].root);
  const Affine row = Affine::variable(0), quotient = Affine::variable(2);
  EXPECT_EQ(shape.depends_until(Affine(3)), 0u);
  EXPECT_EQ(shape.depends_until(row), 1u);
  EXPECT_EQ(shape.depends_until(quotient), 2u);
  EXPECT_TRUE(shape.uses_reduction(quotient - row));
  EXPECT_FALSE(shape.uses_reduction(row));
  EXPECT_TRUE(shape.divides_by(quotient, 1));
  EXPECT_FALSE(shape.divides_by(quotient, 0));
}

TEST(NestShape, WhatIsLeftCountsTheLoopsOutside) {
  const Program p = tile(plain(matmul_graph(30, 7, 6)), 0, 0, std::vector<int64_t>{12, 4});
  const NestShape shape(p, p.kernels[0].root);
  const auto variable = [&](size_t l) { return Affine::variable(shape.nest->loops[l].variable); };
  EXPECT_EQ(shape.available(0), Affine(30));
  EXPECT_EQ(shape.available(2), Affine(30) - variable(0) - variable(1));
  EXPECT_EQ(shape.axes[0], variable(0) + variable(1) + variable(2));
}

TEST(NestShape, EmptyReductionsAreSeen) {
  const Program p = plain(matmul_graph(3, 4, 0));
  EXPECT_TRUE(NestShape(p, p.kernels[0].root).empty_reduction);
}

}  // namespace
}  // namespace adjit::testing
