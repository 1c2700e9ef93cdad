// tests/autosched/gpu/cost/cost_test.cpp -- what kernels are predicted to take.
#include "autosched/gpu/cost/cost.hpp"

#include <algorithm>

#include "autosched/gpu/loops/flat_loops.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/convolutions.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

GpuProgramCost cost_of(const Program& program) { return predict(program, kGpu); }

double term(const GpuKernelCost& kernel, GpuCostTerm term) {
  return kernel.terms[static_cast<size_t>(term)];
}

Program copy_of(int64_t rows, int64_t columns, bool transposed = false) {
  const std::string size = std::to_string(rows) + ", " + std::to_string(columns);
  const Graph graph =
      parse_graph("def f(float(" + size + ") x) -> (y) { y(i, j) = x" +
                  (transposed ? std::string("(j, i)") : std::string("(i, j)")) + " + 1.0 }");
  return flat_loops(initial_program(graph, kGpu), 0, kGpu);
}

TEST(GpuCost, ASmallKernelIsItsLaunch) {
  const Program p = copy_of(8, 8);
  const GpuProgramCost cost = cost_of(p);
  ASSERT_EQ(cost.kernels.size(), 1u);
  EXPECT_EQ(cost.kernels[0].threads, 64);
  EXPECT_EQ(term(cost.kernels[0], GpuCostTerm::Launch), kGpu.launch_microseconds);
  EXPECT_EQ(term(cost.kernels[0], GpuCostTerm::Memory), 0) << "all of it stays in L2";
  EXPECT_LT(cost.microseconds, 1.2 * kGpu.launch_microseconds);
}

// So many copies of a matrix, each of the one before.
GpuProgramCost cost_of_copies(int64_t count) {
  std::string text = "def f(float(8, 8) y0) -> (y" + std::to_string(count) + ") {\n";
  for (int64_t k = 0; k < count; ++k)
    text += "  y" + std::to_string(k + 1) + "(i, j) = y" + std::to_string(k) + "(j, i)\n";
  static std::vector<Program> kept;  // costs name their programs
  kept.push_back(initial_program(parse_graph(text + "}"), kGpu));
  return cost_of(kept.back());
}

// Three kernels are launches, four are nodes of a graph, which is launched once.
TEST(GpuCost, ManyKernelsAreAGraph) {
  const GpuProgramCost three = cost_of_copies(3), four = cost_of_copies(4);
  ASSERT_EQ(four.kernels.size(), 4u);
  EXPECT_EQ(three.graph_microseconds, 0);
  EXPECT_EQ(term(three.kernels[0], GpuCostTerm::Launch), kGpu.launch_microseconds);
  EXPECT_EQ(term(four.kernels[0], GpuCostTerm::Launch), kGpu.node_microseconds);
  EXPECT_EQ(four.graph_microseconds, kGpu.graph_microseconds);
  double nodes = kGpu.graph_microseconds;
  for (const GpuKernelCost& kernel : four.kernels) nodes += kernel.microseconds;
  EXPECT_DOUBLE_EQ(four.microseconds, nodes);
}

TEST(GpuCost, GraphsHaveNotTooManyKernels) {
  const auto most = static_cast<int64_t>(kMostGraphKernels);
  EXPECT_EQ(cost_of_copies(most).graph_microseconds, kGpu.graph_microseconds);
  const GpuProgramCost more = cost_of_copies(most + 1);
  EXPECT_EQ(term(more.kernels[0], GpuCostTerm::Launch), kGpu.node_microseconds);
  EXPECT_EQ(term(more.kernels.back(), GpuCostTerm::Launch), kGpu.launch_microseconds)
      << "the last one is a section of its own";
}

// Nobody knows how often its steps run, and what stands around it is too little for graphs.
TEST(GpuCost, StepsThatDataCountsAreInNoGraph) {
  const Program p = initial_program(parse_graph(R"(
def f(float(8) h0, bool g) -> (z) {
  a(i) = h0(i) + 1.0
  b(i) = a(7 - i) + 1.0
  scan (h, k) = step[while](carry float(8) c = b, carry bool w = g) -> (n, m) {
    n(i) = c(i) * 0.5
    m() = n(0) > 1.0
  }
  y(i) = h(7 - i) + 1.0
  z(i) = y(7 - i) + 1.0
})"),
                                    kGpu);
  const GpuProgramCost cost = cost_of(p);
  EXPECT_GE(cost.kernels.size(), 6u);
  EXPECT_EQ(cost.graph_microseconds, 0);
  for (const GpuKernelCost& kernel : cost.kernels)
    EXPECT_EQ(term(kernel, GpuCostTerm::Launch), kGpu.launch_microseconds);
}

TEST(GpuCost, ALargeCopyIsItsBytes) {
  const Program p = copy_of(16384, 16384);
  const GpuKernelCost kernel = cost_of(p).kernels.at(0);
  const double bytes = 2 * 4 * 16384.0 * 16384.0;
  EXPECT_NEAR(term(kernel, GpuCostTerm::Memory), 1e-3 * bytes / 3010, 5);
  EXPECT_EQ(kernel.microseconds, kGpu.launch_microseconds + term(kernel, GpuCostTerm::Memory));
}

TEST(GpuCost, ColumnsTakeASectorAnElement) {
  const Program rows = copy_of(4096, 4096), columns = copy_of(4096, 4096, true);
  const double along = term(cost_of(rows).kernels.at(0), GpuCostTerm::L2),
               across = term(cost_of(columns).kernels.at(0), GpuCostTerm::L2);
  EXPECT_NEAR(across / along, (8 + 1) / 2.0, 0.01) << "the result is written in rows";
}

// Each operand once for each tile of the other, and the result once.
TEST(GpuCost, AProductIsItsMultiplyAdds) {
  const Program p = default_schedule(product_graph(2048, 2048, 2048, false, false), kGpu);
  const GpuKernelCost kernel = cost_of(p).kernels.at(0);
  const double matrix = 4 * 2048.0 * 2048.0;
  EXPECT_NEAR(term(kernel, GpuCostTerm::L2), 1e-3 * (2 * 16 * matrix + matrix) / kGpu.l2_gb, 5);
  EXPECT_GT(term(kernel, GpuCostTerm::Arithmetic), 2 * term(kernel, GpuCostTerm::L2));
  EXPECT_EQ(kernel.microseconds, kGpu.launch_microseconds + term(kernel, GpuCostTerm::Arithmetic));
}

TEST(GpuCost, ABlockReadsItsRowOnce) {
  const Program p =
      default_schedule(parse_graph("def f(float(65536, 1024) y, float(65536, 1024) g) "
                                   "-> (dx) { s(i) +=! y(i, r) * g(i, r)\n"
                                   " dx(i, j) = y(i, j) * (g(i, j) - s(i)) }"),
                       kGpu);
  const GpuProgramCost cost = cost_of(p);
  ASSERT_EQ(cost.kernels.size(), 1u);
  EXPECT_EQ(cost.kernels[0].threads, 65536.0 * 256);
  const double bytes = 3 * 4 * 65536.0 * 1024;
  EXPECT_NEAR(term(cost.kernels[0], GpuCostTerm::Memory), 1e-3 * bytes / 3010, 5);
  EXPECT_EQ(cost.microseconds,
            kGpu.launch_microseconds + term(cost.kernels[0], GpuCostTerm::Memory));
}

// Windows over rows and over columns of an image: neighbours in a row are a block's, so that its
// own cache has what they read again; rows are other blocks'.
TEST(GpuCost, ABlocksOwnCacheServesItsWindows) {
  const auto window = [](const char* reads) {
    const Graph graph = parse_graph(std::string("def f(float(4098, 4098) x) -> (y) { y(i, j) = ") +
                                    reads + " where i in 0:4096, j in 0:4096 }");
    return flat_loops(initial_program(graph, kGpu), 0, kGpu);
  };
  const Program plain = window("x(i, j) * 2.0"),
                row = window("x(i, j) + x(i, j + 1) + x(i, j + 2)"),
                column = window("x(i, j) + x(i + 1, j) + x(i + 2, j)");
  const auto l2 = [](const Program& p) { return term(cost_of(p).kernels.at(0), GpuCostTerm::L2); };
  const auto access = [](const Program& p) {
    return term(cost_of(p).kernels.at(0), GpuCostTerm::Access);
  };
  EXPECT_NEAR(l2(row) / l2(plain), 1, 0.05);
  EXPECT_NEAR(access(row) / access(plain), 2, 0.05) << "three loads and a store, not one and one";
  EXPECT_NEAR(l2(column) / l2(plain), 2, 0.05);
  EXPECT_NEAR(term(cost_of(column).kernels.at(0), GpuCostTerm::Memory),
              term(cost_of(plain).kernels.at(0), GpuCostTerm::Memory), 1);
}

// Kernels of the same structure that were written by hand took 320, 325 and 361 us on an H100; a
// product of 4096 x 4096 x 4096 ran at 50.0 TFLOP/s.
TEST(GpuCost, IsNearWhatKernelsOfTheSameStructureTook) {
  const testing::Convolution conv3x3{
      .images = 64, .channels = 64, .filters = 64, .size = {56, 56}, .padding = 1};
  const double measured[] = {320, 325, 361};
  size_t next = 0;
  for (const Graph& graph : testing::convolution_and_adjoints(conv3x3)) {
    const Program p = default_schedule(graph, kGpu);
    EXPECT_NEAR(cost_of(p).microseconds / measured[next], 1, 0.1) << next;
    ++next;
  }
  const Program product = default_schedule(product_graph(4096, 4096, 4096, false, false), kGpu);
  EXPECT_NEAR(2 * 4096.0 * 4096 * 4096 / 50e6 / cost_of(product).microseconds, 1, 0.1);
}

// An exponential that changes with the reduction alone is computed once for all lanes of a thread.
TEST(GpuCost, ValuesAreComputedInTheInnermostLoopThatTheyChangeWith) {
  const Program plain =
      initial_program(parse_graph("def f(float(64, 4) v, float(64) x) -> (y) "
                                  "{ y(i) +=! exp(x(r)) * v(r, i) where i in 0:4, r in 0:64 }"),
                      kGpu);
  const auto arithmetic = [](const Program& p) {
    return term(cost_of(p).kernels.at(0), GpuCostTerm::Arithmetic);
  };
  const Program inside = reorder(plain, 0, std::vector<size_t>{1, 0});
  EXPECT_LT(arithmetic(inside), arithmetic(plain) / 2);
}

TEST(GpuCost, ANestReadsAllThatItReads) {
  const Program p = default_schedule(
      parse_graph("def f(float(134217728) x) -> (y) { y(i) = x(i) + x(i + 67108864) where i in "
                  "0:67108864 }"),
      kGpu);
  const double bytes = 3 * 4 * 67108864.0;
  EXPECT_NEAR(term(cost_of(p).kernels.at(0), GpuCostTerm::Memory), 1e-3 * bytes / 3010, 5);
}

TEST(GpuCost, AThreadAloneWaits) {
  const Program p = initial_program(total_graph(256, 256), kGpu);
  const GpuKernelCost kernel = cost_of(p).kernels.at(0);
  EXPECT_EQ(kernel.threads, 1);
  EXPECT_EQ(kernel.microseconds, kernel.terms[0] + term(kernel, GpuCostTerm::Latency));
  const Program split = default_schedule(total_graph(256, 256), kGpu);
  EXPECT_LT(cost_of(split).microseconds, kernel.microseconds / 10);
}

TEST(GpuCost, StepsOfScansAreCalls) {
  const Program p = default_schedule(parse_graph(R"(
def f(float(8) h0, float(8, 8) w) -> (h) {
  scan (h) = step[7](carry float(8) c = h0, fixed float(8, 8) u = w) -> (n) {
    n(i) +=! tanh(c(r) * u(r, i))
  }
})"),
                                     kGpu);
  const GpuProgramCost cost = cost_of(p);
  int64_t most = 0;
  double total = kGpu.graph_microseconds;
  for (const GpuKernelCost& kernel : cost.kernels) {
    most = std::max(most, kernel.calls);
    total += static_cast<double>(kernel.calls) * kernel.microseconds;
  }
  EXPECT_EQ(most, 7);
  EXPECT_DOUBLE_EQ(cost.microseconds, total);
}

TEST(GpuCost, RooflineIsThePeakOrTheMemory) {
  EXPECT_NEAR(roofline(66.9e6, 0, kGpu, true), 1, 0.01) << "TFLOP/s of float32";
  EXPECT_EQ(roofline(0, 3350e3, kGpu, true), 1);
  EXPECT_EQ(roofline(0, 5500e3, kGpu, false), 1);
}

}  // namespace
}  // namespace adjit::sched
