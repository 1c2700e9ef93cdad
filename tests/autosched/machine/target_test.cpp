// tests/autosched/machine/target_test.cpp -- what neutral code asks of a target.
#include "autosched/machine/target.hpp"

#include <gtest/gtest.h>

namespace adjit::sched {
namespace {

TEST(Target, IsAProcessorUnlessItIsSaidToBeAGpu) {
  EXPECT_EQ(cpu_of(Target{}).vector_bits, CpuMachine{}.vector_bits);
  EXPECT_EQ(cpu_of(CpuMachine{.cores = 7}).cores, 7);
  EXPECT_EQ(gpu_of(GpuMachine{.capability = 80}).capability, 80);
  EXPECT_THROW(gpu_of(CpuMachine{}), Error);
  EXPECT_THROW(cpu_of(GpuMachine{}), Error);
}

TEST(Target, TellsTheWidestAccessOfAThread) {
  EXPECT_EQ(vector_bits_of(CpuMachine{.vector_bits = 256}), 256);
  EXPECT_EQ(vector_bits_of(GpuMachine{}), 128);
}

TEST(Target, RunsATaskACoreOrAThread) {
  EXPECT_EQ(workers_of(CpuMachine{.cores = 3}), 3);
  EXPECT_EQ(workers_of(GpuMachine{.multiprocessors = 10, .threads = 1536}), 15360);
}

TEST(Target, LaunchesTheKernelsOfAGpuOneByOne) {
  EXPECT_TRUE(runs_chains(CpuMachine{}));
  EXPECT_FALSE(runs_chains(GpuMachine{}));
}

}  // namespace
}  // namespace adjit::sched
