// tests/jit/engine/backend/cpu_backend_test.cpp -- objects for this processor, made, stored and
// linked.
#include "jit/engine/backend/cpu_backend.hpp"

#include <gtest/gtest.h>

#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

struct ChainOnCpu {
  CpuBackend backend{cpu_target(), 1, FloatMode::FlushSubnormals};
  Program program = initial_program(parse_graph(kChain), CpuMachine{1, 128});
  std::vector<TensorLayout> layouts = row_major(program.graph, program.graph.inputs);
  KernelList list{program, layouts};
  MachineCode code = backend.compile(list);
  ExecutionPlan plan = make_plan(program, code.kernels, layouts, {});
};

TEST(CpuBackend, LoadsWhatItCompiled) {
  ChainOnCpu c;
  ASSERT_EQ(c.code.sections.size(), 1u);
  EXPECT_EQ(c.code.sections[0].name, "objects");
  CompileReport report;
  report.cache = "disk";
  const std::shared_ptr<Executable> executable =
      c.backend.load(c.code.sections, c.plan, report, Stopwatch());
  EXPECT_EQ(executable->plan(), c.plan);
  EXPECT_EQ(executable->report().cache, "disk");
  EXPECT_GT(executable->report().load_ms, 0);
  expect_chain(*executable);
}

TEST(CpuBackend, RefusesSectionsThatDoNotFitThePlan) {
  ChainOnCpu c;
  const auto code_of = [&](const std::vector<cache::Section>& sections) {
    try {
      c.backend.load(sections, c.plan, {}, Stopwatch());
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code_of({}), ErrorCode::Cache);
  EXPECT_EQ(code_of({{"objects", ""}}), ErrorCode::Cache);
}

TEST(CpuBackend, HasTextsOfItsKernels) {
  ChainOnCpu c;
  EXPECT_NE(c.backend.llvm_text(c.list).find("define void @adjit_kernel_0"), std::string::npos);
  EXPECT_NE(c.backend.assembly_text(c.list).find("adjit_kernel_0:"), std::string::npos);
}

TEST(CpuBackend, SchedulesAimAtAllCores) {
  CpuBackend backend(cpu_target(), 1, FloatMode::FlushSubnormals);
  EXPECT_EQ(backend.threads(), 1);
  EXPECT_EQ(cpu_of(backend.schedule_target()).cores, ThreadPool::available_threads());
}

}  // namespace
}  // namespace adjit::testing
