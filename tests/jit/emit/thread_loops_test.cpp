// tests/jit/emit/thread_loops_test.cpp -- which points of a nest a thread computes, and which not.
#include "jit/emit/thread_loops.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kScaled =
    "def main(float(21, 90) x, float(90) b) -> (y) { y(i, j) = x(i, j) * b(j) }";

TEST(ThreadLoops, ThreadsBehindTheLastResultsDoNothing) {
  Program p = program_of(kScaled);
  p = threads(p, 0, 0, 8);  // 21 rows are 24 threads' and more
  p = threads(p, 0, 1, 4);
  p = reorder(p, 0, std::vector<size_t>{0, 2, 1, 3});
  expect_right_in_blocks(parallel(p, 0, 2));
}

TEST(ThreadLoops, ThreadsBehindThoseOfTheNestDoNothing) {
  Program p = threads(program_of(kScaled), 0, 1, 40);
  p = parallel(p, 0, 1);
  EXPECT_EQ(EmulatedProgram(p).kernel(0).threads, 64);
  expect_right_in_blocks(p);
}

// A vector is whole in most threads, in one it is not, and in some there is none of it.
TEST(ThreadLoops, AThreadsLastVectorMayBeShorter) {
  Program p = vectorize(program_of(kScaled), 0, 1, 4);
  p = threads(p, 0, 1, 16);
  expect_right_in_blocks(parallel(p, 0, 1));
  Program sum =
      vectorize(program_of("def main(float(5, 90) x) -> (s) { s(i) +=! x(i, r) }"), 0, 1, 4);
  sum = threads(sum, 0, 1, 16);
  expect_right_in_blocks(parallel(sum, 0, 1));
}

// Several loops of threads in a version of the tile for what is left of it.
TEST(ThreadLoops, ThreadsShareWhatIsLeftOfATile) {
  Program p = program_of("def main(float(8, 11) x) -> (s) { s() +=! x(a, b) }");
  p = unroll(p, 0, 0, 3);
  p = threads(p, 0, 0, 3);
  p = threads(p, 0, 1, 8);
  expect_right_in_blocks(p);
}

// Constraints that a thread's loop decides turn terms off, not threads.
TEST(ThreadLoops, ThreadsOfATriangleWaitForEachOther) {
  Program p = program_of(
      "def main(float(9, 70) x) -> (s) { s(i) +=! x(i, r) where i in 0:9, r in 0:70, r <= 8 * i }");
  p = threads(p, 0, 1, 64);
  expect_right_in_blocks(parallel(p, 0, 1));
}

TEST(ThreadLoops, WhatHasNoneIsTheFirstThreads) {
  Program p = program_of(
      "def main(float(5, 64) x) -> (y) {\n s(i) +=! x(i, r)\n y(i, j) = x(i, j) / s(i)\n}");
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 1, 1, 64);
  p = parallel(p, 1, 1);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 1u);
}

constexpr const char* kProduct =
    "def main(float(21, 12) a, float(12, 30) b) -> (c) { c(i, j) +=! a(i, k) * b(k, j) }";

// 21 rows are no whole number of what 4 threads with 2 rows each take, nor 30 columns of 32.
TEST(ThreadLoops, RegisterTilesReachPastTheEnds) {
  Program p = vectorize(program_of(kProduct), 0, 1, 4);
  p = unroll(p, 0, 0, 2);
  p = tile(p, 0, 0, std::vector<int64_t>{8});
  p = tile(p, 0, 2, std::vector<int64_t>{4});
  p = threads(p, 0, 0, 4);
  p = threads(p, 0, 1, 8);
  // i0 i1t j0t k0 k1 | i2 j1v
  p = reorder(p, 0, std::vector<size_t>{0, 3, 1, 2, 4, 5, 6});
  expect_right_in_blocks(p);
  expect_right_in_blocks(parallel(p, 0, 1));
}

// Threads of the reduction, too: what they add up for rows past the end is dropped.
TEST(ThreadLoops, TilesPastTheEndAreAddedUpInVain) {
  Program p = unroll(program_of(kProduct), 0, 0, 2);
  p = reorder(p, 0, std::vector<size_t>{1, 0, 2, 3});
  p = threads(p, 0, 0, 3);
  p = threads(p, 0, 2, 12);
  p = reorder(p, 0, std::vector<size_t>{0, 1, 2, 3, 4});
  expect_right_in_blocks(p);
}

}  // namespace
}  // namespace adjit::testing
