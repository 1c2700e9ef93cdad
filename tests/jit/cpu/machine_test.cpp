// tests/jit/cpu/machine_test.cpp -- the table of processors.
#include "jit/cpu/machine.hpp"

#include <gtest/gtest.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

CpuTarget processor(std::string_view name) {
  CpuTarget cpu;
  cpu.cpu = name;
  cpu.vector.fma = true;
  cpu.vector.vector_bits = 512;
  return cpu;
}

// Another name would never be found: host and user name processors as LLVM does.
TEST(Machine, EveryNameOfTheTableIsKnownToLLVM) {
  TargetMachines machines(cpu_target("native"));
  const auto lease = machines.lease(CodegenLevel::Fast);
  const llvm::MCSubtargetInfo& processors = *lease->getMCSubtargetInfo();
  ASSERT_FALSE(processors.isCPUStringValid("skylake-512"));
  EXPECT_GT(known_machines().size(), 10u);
  for (std::string_view name : known_machines())
    EXPECT_TRUE(processors.isCPUStringValid(name)) << name;
}

TEST(Machine, EveryProcessorHasCachesThatGrowAndSlowDown) {
  for (std::string_view name : known_machines()) {
    SCOPED_TRACE(name);
    const CpuMachine machine = machine_of(processor(name), 1);
    EXPECT_GE(machine.l1_bytes, 32 << 10);
    EXPECT_GE(machine.l2_bytes, 4 * machine.l1_bytes);
    EXPECT_GE(machine.l3_bytes, 4 * machine.l2_bytes);
    EXPECT_GT(machine.ghz, 2);
    EXPECT_LT(machine.ghz, 6);
    EXPECT_LT(machine.l3_bytes_per_cycle, machine.l2_bytes_per_cycle);
    EXPECT_LT(machine.l2_bytes_per_cycle, machine.load_bits / 8.0);
  }
}

TEST(Machine, AKnownProcessorIsAsItsEntrySays) {
  const CpuMachine machine = machine_of(processor("icelake-server"), 3);
  EXPECT_EQ(machine.cores, 3);
  EXPECT_EQ(machine.vector_bits, 512);
  EXPECT_EQ(machine.l1_bytes, 48 << 10);
  EXPECT_EQ(machine.l2_bytes, 1280 << 10);
  EXPECT_EQ(machine.l3_bytes, 24 << 20);
  EXPECT_EQ(machine.ghz, 2.8);
  EXPECT_EQ(machine.fma_bits, 1024);
  EXPECT_EQ(machine.load_bits, 1024);
  EXPECT_EQ(machine.l2_bytes_per_cycle, 40);
  EXPECT_EQ(machine.l3_bytes_per_cycle, 8);
}

TEST(Machine, AnUnknownProcessorIsTheReference) {
  const CpuMachine machine = machine_of(processor("i486"), 2), reference;
  EXPECT_EQ(machine.l1_bytes, reference.l1_bytes);
  EXPECT_EQ(machine.l2_bytes, reference.l2_bytes);
  EXPECT_EQ(machine.l3_bytes, reference.l3_bytes);
  EXPECT_EQ(machine.ghz, reference.ghz);
  EXPECT_EQ(machine.fma_bits, reference.fma_bits);
  EXPECT_EQ(machine.load_bits, reference.load_bits);
}

TEST(Machine, PairsOfBfloat16FollowTheFeature) {
  CpuTarget cpu = processor("znver4");
  EXPECT_FALSE(machine_of(cpu, 1).bfloat16_pairs);
  cpu.vector.avx512bf16 = true;
  EXPECT_TRUE(machine_of(cpu, 1).bfloat16_pairs);
}

TEST(Machine, MultipliesNoMoreThanItsVectorsHold) {
  CpuTarget cpu;
  cpu.cpu = "graniterapids";
  cpu.vector.fma = true;
  cpu.vector.vector_bits = 512;
  EXPECT_EQ(machine_of(cpu, 2).fma_bits, 1024);
  cpu.vector.vector_bits = 256;
  EXPECT_EQ(machine_of(cpu, 2).fma_bits, 512);
  EXPECT_EQ(machine_of(cpu, 2).load_bits, 512);
  EXPECT_EQ(machine_of(cpu, 2).l2_bytes, 2 << 20);
  cpu.vector.fma = false;
  EXPECT_EQ(machine_of(cpu, 2).fma_bits, 256);
}

}  // namespace
}  // namespace adjit::testing
