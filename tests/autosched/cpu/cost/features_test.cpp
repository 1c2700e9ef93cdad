// Counts of what nests do, and of what they move through memory.
#include "autosched/cpu/cost/features.hpp"

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program tiled_product() {
  Program p = initial_program(matmul_graph(48, 64, 100), 1, 512);
  p = vectorize(std::move(p), 0, 1, 16);
  p = unroll(std::move(p), 0, 0, 12);
  return unroll(std::move(p), 0, 1, 2);
}
NestFeatures only_nest(const Program& p) {
  const KernelFeatures f = features_of(p, p.kernels.at(0), kOneCore, residence_of(p));
  EXPECT_EQ(f.nests.size(), 1U);
  return f.nests.front();
}

TEST(Features, CountATile) {
  // Loops i/12 (4), j/32 (2), r0 (100); tile 12 x 2 vectors of 16.
  const Program p = tiled_product();
  const NestFeatures f = only_nest(p);
  EXPECT_EQ(f.points, 48 * 64 * 100);
  EXPECT_EQ(f.steps, 4 * 2 * 100);
  EXPECT_EQ(f.operations, 48.0 * 64 * 100 / 16);  // multiply-adds
  EXPECT_EQ(f.loads, f.steps * (12 + 2));         // 12 rows of A, 2 vectors of B
  EXPECT_EQ(f.stores, 48 * 64 / 16);
  EXPECT_EQ(f.waits, f.steps);  // each accumulator once a step
  EXPECT_EQ(f.folds, 0);
  EXPECT_EQ(f.bytes_per_vector, 64);
}

TEST(Features, CountRaggedTilesAsTheyAre) {
  Program p = initial_program(matmul_graph(50, 64, 100), 1, 512);
  p = unroll(vectorize(std::move(p), 0, 1, 16), 0, 0, 12);
  EXPECT_EQ(only_nest(p).operations, 50.0 * 64 * 100 / 16);
  EXPECT_EQ(only_nest(p).steps, 5 * 4 * 100);
}

TEST(Features, LanesOfAReductionAreFolded) {
  const Program p = vectorize(initial_program(total_graph(64, 256), 1, 512), 0, 1, 16);
  EXPECT_EQ(only_nest(p).folds, 1);
  EXPECT_EQ(only_nest(p).loads, 64 * 256 / 16);
}

TEST(Features, PartialResultsInMemoryAreLoadedAndStored) {
  const Program p = initial_program(column_sum_graph(64, 256), 1, 512);
  EXPECT_EQ(only_nest(p).stores, 256);
  const size_t order[] = {1, 0};
  const NestFeatures f = only_nest(reorder(p, 0, order));
  EXPECT_EQ(f.stores, 64 * 256);
  EXPECT_EQ(f.loads, 2 * 64 * 256);
}

TEST(Features, WhatFitsACacheEntersItOnce) {
  // A is 19,200 bytes, B 25,600, C 12,288: more than the first cache, little for the second.
  const Program p = tiled_product();
  const KernelFeatures cold = features_of(p, p.kernels[0], kOneCore, {1e12, {}});
  EXPECT_EQ(cold.array_bytes, 4 * (48 * 100 + 100 * 64 + 48 * 64));
  const Traffic& moved = cold.nests[0].traffic;
  EXPECT_NEAR(moved.streamed[1], (19200 + 25600 + 1.25 * 12288) / 64, 1);
  EXPECT_GT(moved.streamed[0], moved.streamed[1]);
  const KernelFeatures warm = features_of(p, p.kernels[0], kOneCore, residence_of(p));
  EXPECT_EQ(warm.nests[0].traffic.streamed[1], 0);
}

// What passes from kernel to kernel within a task is there from before, if the task keeps it.
TEST(Features, WhatStaysInATaskIsNear) {
  const Graph graph = parse_graph(
      "def main(float(40, 30000) x) -> (z) {\n"
      "  t(i, j) = exp(x(i, j))\n  z(i) +=! t(i, r)\n}");
  Program p = initial_program(graph, 2, 512);
  const Residence whole = residence_of(p);
  EXPECT_TRUE(whole.in_task.empty()) << "no tasks";
  EXPECT_EQ(whole.bytes, 4 * (2 * 40 * 30000 + 40));
  for (size_t s : {0, 1}) p = parallel(std::move(p), s, 1);
  const Residence tasks = residence_of(p);
  const TensorId t = p.graph.stages[0].results[0], x = p.graph.inputs[0];
  EXPECT_EQ(tasks.in_task[t.value], 4 * 30000);
  EXPECT_EQ(tasks.in_task[x.value], 0);
  EXPECT_EQ(tasks.bytes, 4 * (40 * 30000 + 40) + 2 * 4 * 30000) << "a part for each core";
  Target target{2, 512};
  target.l3_bytes = 4 << 20;
  const auto lines = [&](const Residence& residence, size_t cache) {
    return features_of(p, p.kernels[1], target, residence).nests[0].traffic.streamed[cache];
  };
  const Residence apart{tasks.bytes, {}};
  for (const size_t cache : {1, 2}) {
    EXPECT_GT(lines(apart, cache), 40 * 30000 / 16 - 1) << "cache " << cache;
    EXPECT_LT(lines(tasks, cache), 100) << "cache " << cache;
  }
}

TEST(Footprint, OfATile) {
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
  const Program p = initial_program(b.graph, 1, 512);
  const PlacedNest placed = placed_nests(p, p.kernels[0]).front();
  EXPECT_NEAR(lines_touched(placed.walks[0], placed.path, 0).count, 1002 * 4 / 64.0, 1e-9);
}

TEST(Footprint, PackedOperandsAreStreams) {
  // P[j / 32, k, j % 32]: a tile of 32 steps evenly through it.
  Program p = initial_program(matmul_graph(48, 64, 100), 1, 512);
  Packing packing;
  packing.dimensions = {{1, 32, 0}, {0, 1, 0}, {1, 1, 32}};
  p = pack(p, 0, p.graph.inputs[1], packing);
  p = unroll(vectorize(std::move(p), 1, 1, 16), 1, 1, 2);
  const Kernel& product = p.kernels[1];
  const PlacedNest placed = placed_nests(p, product).front();
  for (const Walk& walk : placed.walks)
    for (const Stride& stride : walk.strides) EXPECT_TRUE(stride.even && !stride.data);
}

}  // namespace
}  // namespace adjit::sched
