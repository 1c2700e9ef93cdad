// tests/autosched/cpu/cost/tile_features_test.cpp -- a nest's register tile in numbers.
#include "autosched/cpu/cost/tile_features.hpp"

#include <gtest/gtest.h>

#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TileFeatures features_of_first(const Program& p) {
  const std::vector<PlacedNest> placed = placed_nests(p, p.kernels[0]);
  return tile_features_of(p, placed[0],
                          accesses_of(p.graph, p.graph.stages[placed[0].nest->stage]));
}

// i/12, j/32 around k: 12 x 2 vectors of 16 lanes.
Program tiled_product_of(int64_t m, int64_t n, int64_t k) {
  Program p = vectorize(plain(matmul_graph(m, n, k), 1), 0, 1, 16);
  return unroll(unroll(std::move(p), 0, 0, 12), 0, 1, 2);
}

// The example of the header.
TEST(TileFeatures, OfAProductAreItsAccumulatorsCopiesAndLoads) {
  const TileFeatures f = features_of_first(tiled_product_of(48, 512, 100));
  EXPECT_EQ(f.lanes, 16);
  EXPECT_EQ(f.lanes_used, 1);
  EXPECT_EQ(f.instances, 24);
  EXPECT_EQ(f.accumulators, 24);
  EXPECT_GT(f.registers, 24) << "operands stay, too";
  EXPECT_EQ(f.spilled, 0);
  EXPECT_EQ(f.uniform_loads, 12);
  EXPECT_EQ(f.ragged_axes, 0);
  EXPECT_EQ(f.reads, 2);
  EXPECT_EQ(f.nodes, 3) << "two reads and a product";
  EXPECT_EQ(f.inner_trips, 100);
  EXPECT_TRUE(f.inner_reduces);
  EXPECT_FALSE(f.reduction_lanes);
  EXPECT_GT(f.tile_cycles, 0);
}

// With 1024 terms the rows of A lie 4096 bytes apart.
TEST(TileFeatures, RowsPagesApartAreFarAndCollide) {
  const TileFeatures near = features_of_first(tiled_product_of(48, 64, 512));
  EXPECT_EQ(near.far_rows, 0) << "2048 bytes";
  const TileFeatures far = features_of_first(tiled_product_of(48, 64, 1024));
  EXPECT_EQ(far.far_rows, 12);
  EXPECT_EQ(far.colliding_rows, 12);
  const TileFeatures beside = features_of_first(tiled_product_of(48, 64, 1040));
  EXPECT_EQ(beside.far_rows, 12);
  EXPECT_EQ(beside.colliding_rows, 0);
}

TEST(TileFeatures, StepsOfAPageAreFar) {
  EXPECT_EQ(features_of_first(tiled_product_of(48, 64, 100)).far_steps, 0);
  EXPECT_EQ(features_of_first(tiled_product_of(48, 1024, 100)).far_steps, 1) << "down B's columns";
}

TEST(TileFeatures, RaggedTilesAndSpareLanesAreCounted) {
  const TileFeatures f = features_of_first(tiled_product_of(50, 70, 10));
  EXPECT_EQ(f.ragged_axes, 2);
  EXPECT_EQ(f.lanes_used, 70.0 / 80);
}

TEST(TileFeatures, LanesOfAReductionHaveAnAccumulatorEach) {
  const Program p = unroll(vectorize(plain(total_graph(64, 256), 1), 0, 1, 16), 0, 1, 4);
  const TileFeatures f = features_of_first(p);
  EXPECT_TRUE(f.reduction_lanes);
  EXPECT_EQ(f.accumulators, 4);
}

TEST(TileFeatures, WithoutLanesNothingIsAskedOfTheTileModel) {
  const TileFeatures f = features_of_first(plain(matmul_graph(48, 64, 100), 1));
  EXPECT_EQ(f.lanes, 1);
  EXPECT_EQ(f.instances, 1);
  EXPECT_EQ(f.accumulators, 1);
  EXPECT_EQ(f.registers, 1);
  EXPECT_EQ(f.tile_cycles, 0);
}

TEST(TileFeatures, InnerLoopsTouchLessThanThoseAround) {
  const TileFeatures f = features_of_first(tiled_product_of(48, 64, 100));
  EXPECT_GT(f.inner_bytes, 0);
  EXPECT_GT(f.around_bytes, f.inner_bytes);
}

}  // namespace
}  // namespace adjit::sched
