// tests/jit/engine/compile/kernel_passes_test.cpp -- the kernels of a list, emitted and compiled in
// two passes.
#include "jit/engine/compile/kernel_passes.hpp"

#include <gtest/gtest.h>

#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Two kernels of one code, and a longer one.
constexpr const char* kThree =
    "def main(float(100) x) -> (y, z, s) {\n y(i) = x(i) * 2.0\n z(i) = y(i) * 2.0\n"
    " s(i) = tanh(z(i)) * exp(y(i))\n}";

TEST(KernelPasses, VisitWhatEqualsNothingBefore) {
  const Program program = initial_program(parse_graph(kThree), CpuMachine{1, 128});
  const std::vector<TensorLayout> layouts = row_major(program.graph, program.graph.inputs);
  const KernelList list(program, layouts);
  const KernelNames names = kernel_symbol;
  const TargetFeatures features;
  KernelPasses passes(list, features, [](llvm::Module&) {}, names);
  ASSERT_EQ(passes.size(), 3u);
  for (size_t k = 0; k < 3; ++k) passes.emit(k);
  passes.count();
  EXPECT_EQ(passes.longest_first().front(), 2u);
  std::vector<std::string> visited;
  for (size_t k = 0; k < 3; ++k)
    passes.compile(
        k, [&](const EmittedKernel& kernel, CodegenLevel) { visited.push_back(kernel.symbol); });
  EXPECT_EQ(visited, (std::vector<std::string>{kernel_symbol(0), kernel_symbol(2)}));
  const std::vector<EmittedKernel> kernels = passes.take();
  EXPECT_EQ(kernels[1].symbol, kernel_symbol(0));
  EXPECT_EQ(kernels[2].module, nullptr);
}

}  // namespace
}  // namespace adjit::testing
