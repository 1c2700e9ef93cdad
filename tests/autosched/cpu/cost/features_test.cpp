// Counts of what nests do, and of what they move through memory.
#include "autosched/cpu/cost/features.hpp"

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

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
  EXPECT_EQ(f.spills, 0);
  EXPECT_EQ(f.bytes_per_vector, 64);
}

// 20 x 2 accumulators and what is worked on, of 32 registers, once a step.
TEST(Features, VectorsBeyondTheRegistersAreSpilled) {
  const Program lanes = vectorize(plain(matmul_graph(40, 64, 100), 1), 0, 1, 16);
  const NestFeatures f = only_nest(unroll(unroll(lanes, 0, 0, 20), 0, 1, 2));
  EXPECT_GE(f.tile.spilled, 40 - 32);
  EXPECT_LE(f.tile.spilled, 40 - 32 + 8);
  EXPECT_EQ(f.spills, f.tile.spilled * 2 * 2 * 100);
}

TEST(Features, CountRaggedTilesAsTheyAre) {
  Program p = initial_program(matmul_graph(50, 64, 100), CpuMachine{1, 512});
  p = unroll(vectorize(std::move(p), 0, 1, 16), 0, 0, 12);
  EXPECT_EQ(only_nest(p).operations, 50.0 * 64 * 100 / 16);
  EXPECT_EQ(only_nest(p).steps, 5 * 4 * 100);
}

TEST(Features, LanesOfAReductionAreFolded) {
  const Program p = vectorize(initial_program(total_graph(64, 256), CpuMachine{1, 512}), 0, 1, 16);
  EXPECT_EQ(only_nest(p).folds, 1);
  EXPECT_EQ(only_nest(p).loads, 64 * 256 / 16);
}

TEST(Features, PartialResultsInMemoryAreLoadedAndStored) {
  const Program p = initial_program(column_sum_graph(64, 256), CpuMachine{1, 512});
  EXPECT_EQ(only_nest(p).stores, 256);
  const size_t order[] = {1, 0};
  const NestFeatures f = only_nest(reorder(p, 0, order));
  EXPECT_EQ(f.stores, 64 * 256);
  EXPECT_EQ(f.loads, 2 * 64 * 256);
}

}  // namespace
}  // namespace adjit::sched
