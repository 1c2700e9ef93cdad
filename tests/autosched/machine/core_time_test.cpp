// tests/autosched/machine/core_time_test.cpp -- what bytes and cycles take of a core.
#include "autosched/machine/core_time.hpp"

#include <gtest/gtest.h>

namespace adjit::sched {
namespace {

CpuMachine round_numbers() {
  CpuMachine machine{.ghz = 2, .l2_bytes_per_cycle = 32, .l3_bytes_per_cycle = 8};
  machine.memory_gb_per_core = 10;
  machine.memory_gb = 40;
  machine.core.hidden_share = 0.75;
  return machine;
}

TEST(CoreTime, BytesTakeLongerTheFartherTheyCome) {
  const CpuMachine machine = round_numbers();
  EXPECT_EQ(cycles_from_l2(machine, 64), 2);
  EXPECT_EQ(cycles_from_l3(machine, 64), 8);
  EXPECT_EQ(cycles_from_memory(machine, 50000), 10000) << "10 GB/s are 5 bytes a cycle";
  EXPECT_EQ(from_shared_memory(machine, 100), 25) << "where all cores together draw 40 GB/s";
}

TEST(CoreTime, MostOfTheShorterSideIsHidden) {
  const CpuMachine machine = round_numbers();
  EXPECT_EQ(together(machine, {100, 0}), 100);
  EXPECT_EQ(together(machine, {100, 40}), 110);
  EXPECT_EQ(together(machine, {40, 100}), 110);
  EXPECT_EQ(microseconds(machine, {4000}), 2);
  EXPECT_EQ(microseconds(machine, {4000, 8000}), 4.5);
}

}  // namespace
}  // namespace adjit::sched
