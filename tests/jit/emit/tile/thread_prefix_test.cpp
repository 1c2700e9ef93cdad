// tests/jit/emit/tile/thread_prefix_test.cpp -- what the threads before a thread have.
#include "jit/emit/tile/thread_prefix.hpp"

#include <gtest/gtest.h>

#include "autosched/program/shared_memory.hpp"
#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

Program running(int64_t length, int64_t count) {
  const std::string n = std::to_string(length);
  Program p = program_of("def f(float(2, " + n +
                         ") x) -> (y) { y(i, j) +=! x(i, r) where i in 0:2, "
                         "j in 0:" +
                         n + ", r in 0:" + n + ", r <= j }");
  return parallel(threads(std::move(p), 0, 1, count), 0, 1);
}

TEST(ThreadPrefix, GroupsOfEachSize) {
  for (const int64_t count : {1, 2, 4, 16, 32, 64, 256}) {
    SCOPED_TRACE(count);
    expect_right_in_blocks(running(300, count));
  }
}

TEST(ThreadPrefix, WarpsExchangeAnElementEach) {
  EXPECT_EQ(waits(running(300, 32)), 0u);
  const Program p = running(300, 128);
  EXPECT_EQ(waits(p), 2u);
  EXPECT_EQ(EmulatedProgram(p).kernel(0).shared_bytes, 16);
  EXPECT_EQ(shared_bytes(p, p.kernels[0]), 16);
}

TEST(ThreadPrefix, OtherThreadsAreRefused) {
  EXPECT_THROW(running(300, 3), Error);
  EXPECT_THROW(threads(running(300, 64), 0, 1, 2), Error);
}

}  // namespace
}  // namespace adjit::testing
