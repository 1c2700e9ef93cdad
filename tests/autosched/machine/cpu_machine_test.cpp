// tests/autosched/machine/cpu_machine_test.cpp -- what follows from the facts of a processor.
#include "autosched/machine/cpu_machine.hpp"

#include <gtest/gtest.h>

namespace adjit::sched {
namespace {

TEST(CpuMachine, ACacheKeepsTheLinesOfASetThatItHasWaysFor) {
  EXPECT_EQ(lines_kept(4096, 32 << 10), 8) << "eight ways of 4 KB";
  EXPECT_EQ(lines_kept(4096, 48 << 10), 12) << "twelve";
  EXPECT_EQ(lines_kept(2048, 48 << 10), 24) << "two sets";
  EXPECT_EQ(lines_kept(64, 48 << 10), 768) << "all of it";
  EXPECT_FALSE(lines_stay(16, 4096, 48 << 10));
  EXPECT_TRUE(lines_stay(9, 4096, 48 << 10)) << "beside others";
}

}  // namespace
}  // namespace adjit::sched
