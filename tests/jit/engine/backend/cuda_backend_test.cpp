// tests/jit/engine/backend/cuda_backend_test.cpp -- kernels to PTX and cubins, these into a GPU.
#include "jit/engine/backend/cuda_backend.hpp"

#include <gtest/gtest.h>

#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

class CudaBackends : public ::testing::Test {
 protected:
  void SetUp() override { cuda::require(driver, driver.init(0), "cuInit"); }

  std::unique_ptr<CudaBackend> backend(FloatMode mode = FloatMode::FlushSubnormals,
                                       std::optional<Assembler> assembler = std::nullopt) {
    return std::make_unique<CudaBackend>(
        std::make_shared<Gpu>(driver, cuda::device_named(driver, "cuda")), std::move(assembler),
        mode);
  }
  static std::string value_of(const Components& components, const std::string& name) {
    const auto found = std::ranges::find(components, name, &cache::Component::name);
    return found != components.end() ? found->value : "none";
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = cuda::load_driver(ADJIT_FAKE_CUDA);
  Program program = initial_program(parse_graph(kChain), GpuMachine());
  std::vector<TensorLayout> layouts = row_major(program.graph, program.graph.inputs);
  KernelList list{program, layouts};
};

TEST(GpuMachines, KeepTheirDefaultsWhereTheDriverDoesNotSay) {
  DeviceFacts facts;
  facts.multiprocessors = 100;
  const GpuMachine machine = machine_of(facts);
  EXPECT_EQ(machine.multiprocessors, 100);
  EXPECT_EQ(machine.ghz, GpuMachine().ghz);
  EXPECT_EQ(machine.memory_gb, GpuMachine().memory_gb);
}

TEST_F(CudaBackends, LoadWhatTheyCompiled) {
  if (!driver.takes_bitcode) GTEST_SKIP() << "the fake driver runs no kernels here";
  const auto machine = backend();
  MachineCode code = machine->compile(list);
  ASSERT_EQ(code.sections.size(), 1u);
  EXPECT_EQ(code.sections[0].name, "bitcode");
  const ExecutionPlan plan = make_plan(program, code.kernels, layouts, {});
  const std::shared_ptr<Executable> executable =
      machine->load(code.sections, plan, CompileReport(), Stopwatch());
  EXPECT_EQ(executable->device(), 0);
  EXPECT_GT(executable->report().code_bytes, 0u);
  expect_chain(*executable);
  EXPECT_EQ(fake.faults(), "");
}

// Of a real driver, as far as the fake one goes: it understands the names of kernels.
TEST_F(CudaBackends, HandPtxToTheAssemblerAndKeepBoth) {
  driver.takes_bitcode = false;
  const auto machine = backend();
  MachineCode code = machine->compile(list);
  EXPECT_NE(section_of(code.sections, "ptx").find(".entry adjit_kernel_0"), std::string::npos);
  EXPECT_NE(section_of(code.sections, "cubin").find("adjit_kernel_0"), std::string::npos);
  const ExecutionPlan plan = make_plan(program, code.kernels, layouts, {});
  const int links = fake.calls("cuLinkCreate_v2");
  machine->load(code.sections, plan, CompileReport(), Stopwatch());
  EXPECT_EQ(fake.calls("cuLinkCreate_v2"), links);
  fake.fail("cuModuleLoadDataEx", cuda::result::kNoBinary);
  machine->load(code.sections, plan, CompileReport(), Stopwatch());
  EXPECT_EQ(fake.calls("cuLinkCreate_v2"), links + 1) << "the driver makes its own of the PTX";
  try {
    machine->load({}, plan, CompileReport(), Stopwatch());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cache);
  }
}

TEST_F(CudaBackends, HavePtxasAssembleTheProgramWhereItIsInstalled) {
  driver.takes_bitcode = false;
  std::optional<Assembler> assembler = cuda::find_assembler();
  if (!assembler) GTEST_SKIP() << "no ptxas on this machine";
  for (const int capability : {80, 90}) {
    fake.show_devices(1, capability);
    const MachineCode code = backend(FloatMode::FlushSubnormals, assembler)->compile(list);
    EXPECT_TRUE(section_of(code.sections, "cubin").starts_with("\177ELF"));
    EXPECT_EQ(fake.calls("cuLinkCreate_v2"), 0);
  }
}

TEST_F(CudaBackends, KeysNameTheModelNotTheDevice) {
  fake.show_devices(2);
  const auto machine = backend();
  CudaBackend other(std::make_shared<Gpu>(driver, cuda::device_named(driver, "cuda:1")),
                    std::nullopt, FloatMode::FlushSubnormals);
  EXPECT_EQ(machine->code_components(), other.code_components());
  EXPECT_EQ(value_of(machine->code_components(), "target"), "cuda");
  EXPECT_EQ(value_of(machine->code_components(), "sm"), "90");
  EXPECT_EQ(value_of(machine->code_components(), "subnormals"), "flush");
  EXPECT_EQ(value_of(backend(FloatMode::KeepSubnormals)->code_components(), "subnormals"), "keep");
  EXPECT_EQ(value_of(machine->schedule_components(), "assembler"), "none");
  driver.takes_bitcode = false;
  EXPECT_EQ(value_of(backend()->code_components(), "assembler"), "driver");
  EXPECT_EQ(
      value_of(backend(FloatMode::FlushSubnormals, Assembler{"/x", "13.0.88"})->code_components(),
               "assembler"),
      "ptxas 13.0.88");
  fake.show_devices(1, 80);
  EXPECT_NE(machine->schedule_components(), backend()->schedule_components());
}

TEST_F(CudaBackends, HaveTextsOfTheirKernels) {
  const auto machine = backend();
  EXPECT_NE(machine->llvm_text(list).find("@adjit_kernel_0("), std::string::npos);
  EXPECT_NE(machine->assembly_text(list).find(".target sm_90"), std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
