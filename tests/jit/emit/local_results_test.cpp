// tests/jit/emit/local_results_test.cpp -- where what a kernel's nests compute for each other lies.
#include "jit/emit/local_results.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

// A row of exponentials and its sum, computed at the row of what reads them.
Program row_by_row(int64_t columns) {
  const std::string n = std::to_string(columns);
  Program p = program_of("def main(float(3, " + n + ") x) -> (y) {\n e(i, j) = exp(x(i, j))\n" +
                         " s(i) +=! e(i, r)\n y(i, j) = e(i, j) / s(i)\n}");
  for (const size_t stage : {1, 0}) p = compute_at(p, stage, 2, 1);
  return p;
}

Program by_threads(Program p) {
  for (const size_t stage : {0, 1, 2}) p = threads(p, stage, 1, 32);
  return parallel(p, 2, 1);
}

TEST(LocalResults, OfABlockLieInTheMemoryThatItShares) {
  const Program p = by_threads(row_by_row(100));
  const EmulatedProgram emulated(p);
  EXPECT_EQ(emulated.kernel(0).shared_bytes, 400 + 16);
  EXPECT_EQ(occurrences(emulated.ir(), "alloca"), 0u);
  expect_right_in_blocks(p);
}

TEST(LocalResults, OfAThreadLieOnItsStack) {
  const Program p = parallel(row_by_row(10), 2, 1);
  const EmulatedProgram emulated(p);
  EXPECT_EQ(emulated.kernel(0).shared_bytes, 0);
  EXPECT_EQ(occurrences(emulated.ir(), "alloca"), 2u);
  expect_right_in_blocks(p);
}

TEST(LocalResults, ThatFindNoRoomAreRefusedByName) {
  try {
    EmulatedProgram{by_threads(row_by_row(100'000))};
    ADD_FAILURE() << "400,000 bytes are more than a block may share";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Schedule);
    EXPECT_NE(std::string(error.what()).find("of 'y' would share 400016 bytes; at most"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace adjit::testing
