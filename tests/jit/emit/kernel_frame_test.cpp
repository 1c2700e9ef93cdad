// tests/jit/emit/kernel_frame_test.cpp -- parameters and tasks of kernels.
#include "jit/emit/kernel_frame.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

llvm::Function* declared(llvm::Module& module, const TargetFeatures& features, size_t tensors,
                         bool by_table) {
  return emit::declare_kernel(module, "k", features, tensors, by_table);
}

TEST(KernelFrame, ACpuTakesATableAndARangeOfTasks) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  llvm::Function* kernel = declared(module, TargetFeatures{}, 3, false);
  EXPECT_EQ(kernel->arg_size(), 3u);
  EXPECT_EQ(kernel->getCallingConv(), llvm::CallingConv::C);
  EXPECT_EQ(emit::table_of(*kernel, TargetFeatures{}, false), kernel->getArg(0));
}

TEST(KernelFrame, AGpuTakesAPointerForEachTensorOrTheirTable) {
  for (const bool by_table : {false, true}) {
    llvm::LLVMContext context;
    llvm::Module module("m", context);
    llvm::Function* kernel = declared(module, gpu_features(), 3, by_table);
    EXPECT_EQ(kernel->arg_size(), by_table ? 1u : 3u);
    EXPECT_EQ(kernel->getCallingConv(), llvm::CallingConv::PTX_Kernel);
    for (const llvm::Argument& argument : kernel->args())
      EXPECT_EQ(argument.getType()->getPointerAddressSpace(), 1u);
    llvm::Value* table = emit::table_of(*kernel, gpu_features(), by_table);
    EXPECT_EQ(table != nullptr, by_table);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", kernel));
    llvm::Value* second = emit::tensor_pointer(builder, *kernel, table, 1);
    EXPECT_EQ(second->getType()->getPointerAddressSpace(), 1u);
    EXPECT_EQ(llvm::isa<llvm::LoadInst>(second), by_table);
  }
}

TEST(KernelFrame, SubnormalNumbersAreFlushedByTheCodeOfAGpu) {
  const Program p = flat_program(parse_graph("def main(float(64) x) -> (y) { y(i) = x(i) * 0.5 }"));
  EXPECT_EQ(occurrences(EmulatedProgram(p).ptx(), ".ftz"), 0u);
  EXPECT_GE(occurrences(EmulatedProgram(p, 16, true).ptx(), "mul.rn.ftz.f32"), 4u);
}

TEST(KernelFrame, ManyTensorsComeInATable) {
  std::string inputs = "float(8) x0", sum = "x0(i)";
  for (int k = 1; k < 510; ++k) {
    const std::string x = "x" + std::to_string(k);
    inputs += ", float(8) " + x;
    sum += " + " + x + "(i)";
  }
  const Graph graph = parse_graph("def main(" + inputs + ") -> (y) { y(i) = " + sum + " }");
  const Program p = flat_program(graph);
  const EmulatedProgram emulated(p);
  EXPECT_TRUE(emulated.kernel(0).by_table);
  EXPECT_EQ(check_emitted(p, small_inputs(graph, 2)), "");
}

// Tasks over a reduction axis go on from each other: one thread runs them.
TEST(KernelFrame, TasksInTurnAreOneThreads) {
  const Graph graph =
      parse_graph("def main(float(6, 8) x) -> (s) { s(i) +=! x(i, r) where i in 0:6, r in 0:8 }");
  Program p = initial_program(graph, CpuMachine{2, 128});
  p = parallel(std::move(p), 0, 2);
  EXPECT_EQ(EmulatedProgram(p).kernel(0).tasks, 48);
  EXPECT_EQ(tasks_in_turn(p, p.kernels[0].root), 8);
  EXPECT_EQ(check_emitted(p, small_inputs(graph, 2)), "");
}

}  // namespace
}  // namespace adjit::testing
