// tests/autosched/gpu/cost/reuse_test.cpp -- what caches have of what a kernel reads.
#include "autosched/gpu/cost/reuse.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"

namespace adjit::sched {
namespace {

constexpr double kAll = 1 << 20;  // bytes of a cache that holds whatever a block of these reads

struct Caches {
  explicit Caches(const Program& program) : placed(placed_nests(program, program.kernels.at(0))) {
    for (const PlacedNest& nest : placed)
      nests.push_back({&nest, roles_of(nest.path, is_block_kernel(program.kernels[0]))});
  }
  double sectors(double bytes) const {
    double sum = 0;
    for (double count : Reuse(nests).sectors_below_l1(bytes)) sum += count;
    return sum;
  }
  double memory(double blocks, double l2_bytes) const {
    return Reuse(nests).bytes_below_l2(blocks, l2_bytes);
  }

  std::vector<PlacedNest> placed;
  std::vector<NestRoles> nests;
};

Program flat(const char* text, size_t loops) {
  return parallel(initial_program(parse_graph(text), kGpu), 0, loops);
}

TEST(Reuse, ASumOfRowsReadsEachSectorOnceWhereTheCacheHoldsALineOfEachThread) {
  // 128 threads, a row of 64 floats each: 8 sectors a row.
  const Caches rows(flat("def f(float(128, 64) x) -> (s) { s(i) +=! x(i, k) }", 1));
  EXPECT_EQ(rows.sectors(kAll), 128 * 8);
  // Where it holds none, each load asks for a sector.
  EXPECT_EQ(rows.sectors(0), 128 * 64);
}

TEST(Reuse, WhatNoLoopMovesStaysInARegister) {
  // x is loaded once, y by all threads of a block together, in every step.
  const Caches sums(flat("def f(float(128) x, float(64) y) -> (s) { s(i) +=! x(i) * y(k) }", 1));
  EXPECT_EQ(sums.sectors(0), 128 / 8 + 64);
  EXPECT_EQ(sums.sectors(kAll), 128 / 8 + 64 / 8);
}

TEST(Reuse, ReadsOfATensorThatLieApartAreAsManyRows) {
  const Caches near(
      flat("def f(float(130) x) -> (y) { y(i) = x(i) + x(i + 1) where i in 0:128 }", 1));
  EXPECT_NEAR(near.sectors(kAll), 128 / 8, 1);
  const Caches far(
      flat("def f(float(1130) x) -> (y) { y(i) = x(i) + x(i + 1000) where i in 0:128 }", 1));
  EXPECT_EQ(far.sectors(kAll), 2 * 128 / 8);
}

TEST(Reuse, BlocksThatRunAtOnceShareWhatL2Has) {
  // Each of 8 blocks reads the same 4 KB.
  const Caches same(flat("def f(float(1024) x, float(1024) y) -> (s) { s(i) +=! x(i) * y(k) }", 1));
  EXPECT_EQ(same.memory(8, kAll), 4 * (1024 + 1024));
  EXPECT_EQ(same.memory(1, kAll), 4 * (1024 + 1024)) << "what follows finds it, too";
}

TEST(Reuse, NestsThatReadTheSameRowsHoldItOnce) {
  // 16 threads, a row of 2 lines each: where all are held, the second nest finds what the first
  // one has read.
  Program rows = initial_program(
      parse_graph("def f(float(16, 64) x) -> (y) { m(i) +=! x(i, r)\n y(i, j) = x(i, j) - m(i) }"),
      kGpu);
  rows = parallel(compute_at(std::move(rows), 0, 1, 1), 1, 1);
  const Caches caches(rows);
  EXPECT_EQ(caches.sectors(16 * 2 * kCacheLine), 16 * 8);
  EXPECT_GT(caches.sectors(0), 16 * 8);
}

}  // namespace
}  // namespace adjit::sched
