// tests/jit/emit/tile/thread_block_test.cpp -- memory that a block shares, and where threads wait.
#include "jit/emit/tile/thread_block.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/block_programs.hpp"
#include "tests/jit/emit/gpu_numbers.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kSoftmax =
    "def main(float(5, 200) x) -> (y) {\n"
    " m(i) max=! x(i, r) where i in 0:5, r in 0:200\n"
    " e(i, j) = exp(x(i, j) - m(i))\n"
    " s(i) +=! e(i, r) where i in 0:5, r in 0:200\n"
    " y(i, j) = e(i, j) / s(i)\n}";

// All four of its stages in one kernel, a block a row, each with so many threads.
Program softmax(const std::vector<int64_t>& counts) {
  Program p = program_of(kSoftmax);
  for (const size_t s : {2, 1, 0}) p = compute_at(p, s, 3, 1);
  for (size_t s = 0; s < 4; ++s) {
    p = vectorize(p, s, 1, 2);
    p = threads(p, s, 1, counts[s]);
  }
  return parallel(p, 3, 1);
}

TEST(ThreadBlock, ABlockSharesARow) {
  for (const int64_t count : {32, 50, 64}) {
    const Program p = softmax({count, count, count, count});
    EXPECT_EQ(p.kernels.size(), 1u);
    expect_right_in_blocks(p);
  }
  const EmulatedProgram one(softmax({64, 64, 64, 64}));
  EXPECT_EQ(one.kernel(0).threads, 64);
  EXPECT_LE(one.kernel(0).shared_bytes, 200 * 4 + 4 * 16) << "the row, and what warps exchange";
  EXPECT_EQ(occurrences(one.ptx(), ".local"), 0u);
}

// What the first nest has stored is not read before the second one has, too.
TEST(ThreadBlock, OneBarrierServesNestsThatDoNotReadEachOther) {
  Program p = program_of(
      "def main(float(5, 200) x) -> (y) {\n m(i) max=! x(i, r)\n s(i) +=! x(i, r)\n"
      " y(i, j) = (x(i, j) - m(i)) * s(i)\n}");
  for (const size_t s : {1, 0}) p = compute_at(p, s, 2, 1);
  for (size_t s = 0; s < 3; ++s) p = threads(p, s, 1, 32);
  p = parallel(p, 2, 1);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 1u);
}

// The nest inside the second nest is the one that reads what the first one has stored.
TEST(ThreadBlock, WhatNestsInsideANestReadIsWaitedForInFrontOfIt) {
  Program p = program_of(
      "def main(float(5, 64) x) -> (y) {\n a(i) +=! x(i, r)\n c(i, k) = x(i, k) * a(i)\n"
      " b(i) max=! c(i, k)\n y(i, j) = x(i, j) + a(i) * b(i)\n}");
  p = compute_at(p, 2, 3, 1);
  p = compute_at(p, 1, 2, 1);
  p = compute_at(p, 0, 3, 1);
  for (const size_t s : {0, 3}) p = threads(p, s, 1, 32);
  expect_right_in_blocks(parallel(p, 3, 1));
}

// Barriers in a loop without an iteration, as b's first row is, are none for what c reads.
TEST(ThreadBlock, BarriersInsideANestServeThatNestAlone) {
  Program p = program_of(
      "def main(float(5, 64) x) -> (y) {\n a(i) +=! x(i, r)\n d(i, k) = exp(x(i, k))\n"
      " b(i) +=! d(i, k) where i in 0:5, k in 0:64, k <= i - 1\n"
      " c(i, k) = a(i) * x(i, k)\n y(i, j) = c(i, j) + b(i)\n}");
  for (const size_t s : {3, 2}) p = compute_at(p, s, 4, 1);
  p = compute_at(p, 1, 2, 1);
  p = compute_at(p, 0, 4, 1);
  for (const size_t s : {0, 3, 4}) p = threads(p, s, 1, 32);
  expect_right_in_blocks(parallel(p, 4, 1));
}

// Where no thread reads what it has stored itself, none of the barriers is there for nothing.
TEST(ThreadBlock, WithoutAnyOfTheirBarriersThreadsRace) {
  if (!kEmulates) return;
  Program rows = threads(program_of(kRowSum), 0, 1, 64);  // one block for all, row by row
  size_t planted = 0, caught = 0;
  for (const Program& program :
       {softmax({64, 16, 32, 50}), softmax({20, 100, 24, 64}), std::move(rows)}) {
    const std::vector<Array> inputs = small_inputs(program.graph, 3);
    EmulatedProgram emulated(program);
    for (size_t number = 0; emulated.leave_out_barrier(number); ++number, ++planted)
      caught += races(emulated, inputs) ? 1 : 0;
  }
  EXPECT_EQ(planted, 11u);
  EXPECT_EQ(caught, planted);
  note_races(planted, caught);
}

}  // namespace
}  // namespace adjit::testing
