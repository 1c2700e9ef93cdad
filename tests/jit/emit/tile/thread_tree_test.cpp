// tests/jit/emit/tile/thread_tree_test.cpp -- threads that add up results together.
#include "jit/emit/tile/thread_tree.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

// A block a row: threads take vectors of 4, all of them the whole row in two rounds.
Program row_sum(int64_t count) {
  Program p = program_of(kRowSum);
  p = vectorize(p, 0, 1, 4);
  p = threads(p, 0, 1, count);
  return parallel(p, 0, 1);
}

TEST(ThreadTree, ABlockAddsUpARow) {
  for (const int64_t count : {2, 8, 24, 32, 64, 75}) {
    SCOPED_TRACE(count);
    expect_right_in_blocks(row_sum(count));
  }
  EXPECT_EQ(waits(row_sum(32)), 0u) << "a warp shuffles";
  EXPECT_EQ(waits(row_sum(64)), 1u) << "warps wait for each other";
}

TEST(ThreadTree, AWarpAddsUpARow) {
  Program p = program_of(
      "def main(float(21, 96) x) -> (s) { s(i) +=! x(i, r) where i in 0:21, r in 0:96 }");
  p = threads(p, 0, 0, 8);
  p = threads(p, 0, 1, 32);
  const std::vector<size_t> rows_together{0, 1, 2, 3};  // Serial i, Thread i, Serial r, Thread r
  p = reorder(p, 0, rows_together);
  p = parallel(p, 0, 1);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 0u);
}

// Threads that have no part in a nest, where another one of the block has more, are of no group of
// its.
TEST(ThreadTree, ThreadsOfNoGroupLeaveTheExchangeAlone) {
  Program p = program_of(
      "def main(float(4, 384) x) -> (y) {\n s(i) +=! x(i, r)\n y(i, j) = x(i, j) * s(i)\n}");
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 0, 1, 96);
  p = threads(p, 1, 1, 128);
  p = parallel(p, 1, 1);
  EXPECT_EQ(EmulatedProgram(p).kernel(0).shared_bytes, 2 * 16)
      << "a sum, and what 4 warps exchange";
  expect_right_in_blocks(p);
}

// Neighbouring threads take neighbouring columns, some of them the same ones in other rows.
TEST(ThreadTree, ABlockAddsUpColumns) {
  Program p = program_of(
      "def main(float(50, 256) x) -> (s) { s(j) +=! x(r, j) where j in 0:256, r in 0:50 }");
  p = vectorize(p, 0, 0, 4);
  p = threads(p, 0, 0, 16);
  p = threads(p, 0, 1, 8);
  // Serial j, Thread j, Serial r, Thread r, Vector j
  p = reorder(p, 0, std::vector<size_t>{0, 2, 3, 1, 4});
  p = parallel(p, 0, 1);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 1u);
}

// Columns' sums one after the other: the second exchange waits until the first one's values are
// read.
TEST(ThreadTree, ExchangesShareTheirMemory) {
  Program p = program_of(
      "def main(float(32, 64) x) -> (y) {\n a(j) +=! x(r, j)\n b(j) max=! x(r, j)\n"
      " y(j) = a(j) * b(j)\n}");
  for (const size_t s : {1, 0}) p = compute_at(p, s, 2, 1);
  p = interleave(p, 2, 1, 16);
  for (const size_t s : {0, 1}) {
    p = threads(p, s, 0, 16);
    p = threads(p, s, 1, 4);
    p = reorder(p, s, std::vector<size_t>{1, 2, 0});  // Serial r, Thread r, Thread j
  }
  p = threads(p, 2, 0, 16);
  p = parallel(p, 2, 1);
  expect_right_in_blocks(p);
  const EmulatedProgram emulated(p);
  EXPECT_EQ(emulated.kernel(0).shared_bytes, 2 * 64 + 64 * 4) << "the sums, and one exchange";
  EXPECT_EQ(shared_bytes(p, p.kernels[0]), 2 * 64 + 64 * 4);
}

// Of equal values the first point's wins, as does the first NaN, whichever threads have them; and
// rows may have no points at all.
TEST(ThreadTree, WinnersAreTheFirstOnes) {
  if (!kEmulates) return;
  for (const char* by : {"argmax", "argmin"})
    for (const char* where : {"", ", r <= 40 * i - 40"})
      for (const int64_t count : {4, 12, 64, 96}) {
        const Program p = [&] {
          Program made =
              program_of("def main(float(5, 200) x) -> (v, k) {\n (v, k)(i) " + std::string(by) +
                         "=! (x(i, r), int32(r)) where i in 0:5, r in 0:200" + where + "\n}");
          return parallel(threads(std::move(made), 0, 1, count), 0, 1);
        }();
        SCOPED_TRACE(print(p));
        Array x = Array::zeros(DType::Float32, {5, 200});
        const double worst =
            std::numeric_limits<double>::infinity() * (std::string(by) == "argmax" ? -1 : 1);
        for (int64_t at = 0; at < 1000; ++at)
          x.set(at, at / 200 == 4 ? worst : at / 200 == 3 ? 0 : static_cast<double>(at * 7 % 5));
        for (const int64_t at : {250, 333, 334})
          x.set(at, std::numeric_limits<double>::quiet_NaN());
        const std::vector<Array> inputs{x}, expected = interpret(p.graph, inputs);
        const EmulatedProgram emulated(p);
        for (uint64_t seed = 1; seed <= 3; ++seed)
          EXPECT_EQ(difference(expected, emulated(inputs, seed), 0), "");
      }
}

TEST(ThreadTree, AWindowsWinnersAreBlocks) {
  Program p = program_of(
      "def main(float(3, 20, 20) x) -> (v, k) {\n (v, k)(i, j) argmax=! (x(i, 2 * j + a, b), 20 * "
      "(2 * "
      "j + a) + b) where i in 0:3, j in 0:8, a in 0:4, b in 0:20\n}");
  p = threads(p, 0, 2, 2);
  p = threads(p, 0, 3, 16);
  p = reorder(p, 0, std::vector<size_t>{0, 1, 2, 4, 3, 5});
  expect_right_in_blocks(parallel(p, 0, 2), 0);
}

TEST(ThreadTree, ABlockAddsUpAll) {
  Program p =
      program_of("def main(float(37, 41) x) -> (s) { s() +=! x(a, b) where a in 0:37, b in 0:41 }");
  p = threads(p, 0, 0, 4);
  p = threads(p, 0, 1, 32);
  expect_right_in_blocks(p);
}

// Rows that are more than a block's loop over them has trips.
TEST(ThreadTree, ABlockGoesThroughRowsOneByOne) {
  Program p = program_of(kRowSum);
  p = threads(p, 0, 1, 64);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 2u) << "what warps left is read before it is written anew";
}

struct Reduction {
  const char* dtype;
  const char* combiner;
};
class BlockCombiners : public ::testing::TestWithParam<Reduction> {};

TEST_P(BlockCombiners, GoThroughShufflesAndMemory) {
  const std::string text = std::string("def main(") + GetParam().dtype +
                           "(3, 4, 70) x) -> (s) { s(i, j) " + GetParam().combiner +
                           " x(i, j, r) where i in 0:3, j in 0:4, r in 0:70 }";
  for (const int64_t count : {16, 20, 64}) {
    SCOPED_TRACE(text + " by " + std::to_string(count));
    Program p = threads(program_of(text), 0, 2, count);
    expect_right_in_blocks(parallel(p, 0, 1), 2e-2);
    Program apart = threads(program_of(text), 0, 2, 2);  // Serial i, j, r, Thread r
    apart = threads(apart, 0, 1, 4);                     // Serial i, Thread j, Serial r, Thread r
    apart = reorder(apart, 0, std::vector<size_t>{0, 2, 3, 1});
    expect_right_in_blocks(parallel(apart, 0, 1), 2e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(BlockKernels, BlockCombiners,
                         ::testing::Values(Reduction{"float", "+=!"}, Reduction{"float", "max=!"},
                                           Reduction{"double", "+=!"}, Reduction{"double", "min=!"},
                                           Reduction{"int64", "+=!"}, Reduction{"int32", "*=!"},
                                           Reduction{"int8", "max=!"}, Reduction{"half", "+=!"},
                                           Reduction{"bfloat16", "max=!"},
                                           Reduction{"bool", "any=!"}, Reduction{"bool", "all=!"}));

}  // namespace
}  // namespace adjit::testing
