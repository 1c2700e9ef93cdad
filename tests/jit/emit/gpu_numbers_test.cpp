// tests/jit/emit/gpu_numbers_test.cpp -- the kernels of the default schedule for some graphs, as
// ptxas makes them: nothing of a thread lies in memory. ADJIT_GPU_NUMBERS=1 prints the table.
#include "tests/jit/emit/gpu_numbers.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/convolutions.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(GpuNumbers, TheShareOfMultiplyAddsIsThatOfTheBlockWithMost) {
  EXPECT_EQ(multiply_add_share("$L__BB0_1:\n\tfma.rn.f32 \t%f1;\n\tadd.s32 \t%r1;\n"
                               "$L__BB0_2:\n\tfma.rn.f32 \t%f1;\n\tfma.rn.f32 \t%f2;\n"
                               "\tfma.rn.f32 \t%f3;\n\tbra \t$L__BB0_2;\n"),
            0.75);
  EXPECT_EQ(multiply_add_share(""), 0);
}

struct Golden {
  const char* name;
  Graph graph;
  int registers;  // of a thread, at most: ptxas 13.0 takes up to a fifth less
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  const auto add = [&](const char* name, int registers, const std::string& text) {
    all.push_back({name, parse_graph(text), registers});
  };
  add("elementwise adjoint", 48,
      "def f(float(2048, 1024) x, float(2048, 1024) w, float(2048, 1024) g) -> (dx, dw) {\n"
      " t(i, j) = tanh(x(i, j) * w(i, j))\n d(i, j) = g(i, j) * (1.0 - t(i, j) * t(i, j))\n"
      " dx(i, j) = d(i, j) * w(i, j)\n dw(i, j) = d(i, j) * x(i, j)\n}");
  add("softmax adjoint", 30,
      "def f(float(4096, 1024) y, float(4096, 1024) g) -> (dx) {\n s(i) +=! y(i, r) * g(i, r)\n"
      " dx(i, j) = y(i, j) * (g(i, j) - s(i))\n}");
  add("layer norm", 30,
      "def f(float(4096, 1024) x) -> (y) {\n m(i) +=! x(i, r) * 0.0009765625\n"
      " v(i) +=! (x(i, r) - m(i)) * (x(i, r) - m(i))\n"
      " y(i, j) = (x(i, j) - m(i)) * rsqrt(v(i) * 0.0009765625 + 0.00001)\n}");
  all.push_back({"column sums", column_sum_graph(32768, 1024), 64});
  all.push_back({"total", total_graph(4096, 4096), 64});
  all.push_back({"product of 4096", matmul_graph(4096, 4096, 4096), 232});
  all.push_back({"product, both transposed", product_graph(1024, 1024, 1024, true, true), 96});
  return all;
}

TEST(GpuNumbers, NothingOfAThreadLiesInMemory) {
  const std::optional<cuda::Assembler> assembler = cuda::find_assembler();
  if (!assembler) GTEST_SKIP() << "there is no ptxas";
  for (const Golden& golden : goldens()) {
    const EmulatedProgram program(default_schedule(golden.graph, GpuMachine()));
    for (const int capability : {80, 90}) {
      const std::string gpu = "sm_" + std::to_string(capability), ptx = program.ptx(capability);
      const std::vector<cuda::KernelFacts> kernels = cuda::assemble(*assembler, ptx, gpu).kernels;
      note_kernels(golden.name, gpu, ptx, kernels);
      for (const cuda::KernelFacts& kernel : kernels) {
        EXPECT_EQ(kernel.stack_bytes, 0) << golden.name << ", " << kernel.name << " on " << gpu;
        EXPECT_LE(kernel.registers, golden.registers)
            << golden.name << ", " << kernel.name << " on " << gpu;
        EXPECT_EQ(kernel.spill_bytes, 0) << golden.name << ", " << kernel.name << " on " << gpu;
      }
    }
  }
}

}  // namespace
}  // namespace adjit::testing
