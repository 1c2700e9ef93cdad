// tests/jit/engine/compile/gpu_modules_test.cpp -- all kernels of a program for a GPU, as bitcode.
#include "jit/engine/compile/gpu_modules.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "jit/cuda/ptx/ptx.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(GpuModules, EqualKernelsAreOneFunction) {
  const Program program = initial_program(
      parse_graph("def main(float(100) x) -> (y, z) {\n y(i) = x(i) * 2.0\n z(i) = y(i) * 2.0\n}"),
      GpuMachine());
  const std::vector<TensorLayout> layouts = row_major(program.graph, program.graph.inputs);
  const KernelList list(program, layouts);
  check_gpu_emission(list, gpu_features());
  const GpuModules modules = emit_gpu_modules(list, gpu_features());
  ASSERT_EQ(modules.kernels.size(), 2u);
  EXPECT_EQ(modules.kernels[1].symbol, kernel_symbol(0));
  ASSERT_EQ(modules.bitcode.size(), 1u);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = cuda::link_bitcode(context, modules.bitcode);
  ASSERT_NE(module->getFunction(kernel_symbol(0)), nullptr);
  EXPECT_EQ(module->getFunction(kernel_symbol(0))->arg_size(), 2u);
}

}  // namespace
}  // namespace adjit::testing
