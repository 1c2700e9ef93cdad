// tests/autosched/analysis/footprint_test.cpp -- how accesses move through memory, loop by loop.
#include "autosched/analysis/footprint.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/scattered_tables.hpp"

namespace adjit::sched {
namespace {

TEST(Footprint, ATileTouchesTheLinesOfItsOperands) {
  // Path i/12, j/32, r0, i, j/16, j: the example of footprint.hpp.
  const Program p = tiled_product();
  const PlacedNest placed = placed_nests(p, p.kernels[0]).front();
  ASSERT_EQ(placed.path.size(), 6U);
  const Walk& b = *std::ranges::find(placed.walks, p.graph.inputs[1], &Walk::tensor);
  const auto lines = [&](size_t from) { return lines_touched(b, placed.path, from).count; };
  EXPECT_EQ(lines(3), 2);
  EXPECT_EQ(lines(2), 200);
  EXPECT_EQ(lines(1), 400);
  EXPECT_EQ(lines(0), 400);
}

TEST(Footprint, TapsShareWhatTheyTouch) {
  Builder b;
  const TensorId x = b.input("x", {1002});
  b.output(b.stage("y", {1000, 3}, 1, CombinerKind::Sum,
                   b.at(x, {b.graph.pool.add(b.axis(0), b.axis(1))})));
  const Program p = initial_program(b.graph, CpuMachine{1, 512});
  const PlacedNest placed = placed_nests(p, p.kernels[0]).front();
  EXPECT_NEAR(lines_touched(placed.walks[0], placed.path, 0).count, 1002 * 4 / 64.0, 1e-9);
}

TEST(Footprint, PackedOperandsAreStreams) {
  // P[j / 32, k, j % 32]: a tile of 32 steps evenly through it.
  Program p = initial_program(matmul_graph(48, 64, 100), CpuMachine{1, 512});
  Packing packing;
  packing.dimensions = {{1, 32, 0}, {0, 1, 0}, {1, 1, 32}};
  p = pack(p, 0, p.graph.inputs[1], packing);
  p = unroll(vectorize(std::move(p), 1, 1, 16), 1, 1, 2);
  const Kernel& product = p.kernels[1];
  const PlacedNest placed = placed_nests(p, product).front();
  for (const Walk& walk : placed.walks)
    for (const Stride& stride : walk.strides) EXPECT_TRUE(stride.even && !stride.data);
}

TEST(Footprint, RaggedTilesCountAsTheyAre) {
  const Program p = tile(plain(matmul_graph(50, 64, 10)), 0, 0, std::vector<int64_t>{12});
  const Nest& nest = p.kernels[0].root;
  EXPECT_EQ(iterations(nest, 0), 1);
  EXPECT_EQ(iterations(nest, 1), 5);
  EXPECT_EQ(iterations(nest, nest.loops.size()), 50 * 64 * 10);
}

TEST(Footprint, NestsStandBehindTheirHosts) {
  Program p = plain(softmax_graph(12, 40));
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  const std::vector<PlacedNest> placed = placed_nests(p, p.kernels[0]);
  ASSERT_EQ(placed.size(), 4u);
  EXPECT_EQ(placed[0].host, SIZE_MAX);
  EXPECT_EQ(placed[0].end, 4u);
  for (size_t k = 1; k < 4; ++k) {
    EXPECT_EQ(placed[k].host, 0u);
    EXPECT_EQ(placed[k].first, 1u) << "in the loop over rows";
    EXPECT_EQ(placed[k].runs, 12);
    for (const Walk& walk : placed[k].walks)
      EXPECT_EQ(walk.local, walk.tensor != p.graph.inputs[0]);
  }
}

TEST(Footprint, LoopsOverSegmentsHaveAsManyTripsAsTheseHavePlaces) {
  const Program p = inverted(table(90, 5), 16);
  const PlacedNest placed = placed_nests(p, p.kernels.back()).front();
  ASSERT_EQ(placed.path.size(), 3u);
  EXPECT_EQ(placed.path[2].trips, 18);
  EXPECT_EQ(p.kernels.back().root.loops[2].trips, 90);
}

TEST(Footprint, PlacesThatDataNamesAreLinesOfTheirOwn) {
  Builder b;
  const TensorId x = b.input("x", {100000});
  const TensorId n = add_input(b.graph, "n", DType::Int64, {1000});
  b.output(b.stage("y", {1000}, 1, CombinerKind::None, b.at(x, {b.at(n, {b.axis(0)})})));
  const Program p = initial_program(b.graph, CpuMachine{1, 512});
  const PlacedNest placed = placed_nests(p, p.kernels[0]).front();
  const Walk& walk = *std::ranges::find(placed.walks, x, &Walk::tensor);
  EXPECT_TRUE(walk.strides[0].data);
  const Lines lines = lines_touched(walk, placed.path, 0);
  EXPECT_GT(lines.count, 900);
  EXPECT_GT(lines.places, 900) << "no prefetcher foresees them";
}

}  // namespace
}  // namespace adjit::sched
