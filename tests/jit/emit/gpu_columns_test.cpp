// tests/jit/emit/gpu_columns_test.cpp -- rows computed in the pass that adds up their columns.
#include <gtest/gtest.h>

#include "autosched/gpu/fuse_columns.hpp"
#include "autosched/search/scheduler.hpp"
#include "jit/cuda/assembler.hpp"
#include "tests/autosched/gpu/norms.hpp"
#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

constexpr GpuMachine kOne{.multiprocessors = 1, .l2_gb = 1};

Program in_columns(const Graph& graph) {
  Program p = default_schedule(graph, kOne);
  EXPECT_TRUE(fallbacks_of(p).empty());
  EXPECT_TRUE(computes_rows_in_sums(p)) << print(p);
  return p;
}

TEST(GpuColumns, ALayerNormsGradients) {
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{24, 32}, {33, 32}, {24, 36}, {21, 33}, {17, 700}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
    expect_right_in_blocks(in_columns(layer_norm(rows, width)), 1e-4);
  }
}

TEST(GpuColumns, DoubleSumsAndLeadingAxes) {
  expect_right_in_blocks(
      in_columns(parse_graph("def f(float(3, 64, 32) x, float(3, 64, 32) g) -> (dx, dw) {\n"
                             " m(b, i) +=! x(b, i, r)\n dx(b, i, j) = g(b, i, j) * m(b, i)\n"
                             " dw(j) +=! double(g(r_b, r, j) * x(r_b, r, j))\n}")));
}

TEST(GpuColumns, TilesOfColumns) {
  expect_right_in_blocks(in_columns(
      parse_graph("def f(float(48, 256) z, float(48, 256) g) -> (dz, db) {\n"
                  " dz(i, j) = select(z(i, j) > 0.0, g(i, j), 0.0)\n db(j) +=! dz(r, j)\n}")));
}

// A barrier that is left out is a race: rows are stored and read by different threads.
TEST(GpuColumns, BarriersAreNeeded) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  const Program p = in_columns(layer_norm(24, 64));
  const std::vector<Array> inputs = small_inputs(p.graph, 3);
  size_t caught = 0, number = 0;
  for (EmulatedProgram emulated(p); emulated.leave_out_barrier(number); ++number) {
    bool raced = false;
    for (uint64_t seed = 1; seed <= 3 && !raced; ++seed) try {
        emulated(inputs, seed);
      } catch (const std::runtime_error&) {
        raced = true;
      }
    caught += raced;
    emulated = EmulatedProgram(p);
  }
  EXPECT_GE(number, 3u);
  EXPECT_GE(caught, 3u);
}

// Of two loads of an element by one address the back end leaves one, across barriers: 9 loads stand
// in the nests.
TEST(GpuColumns, BarriersDoNotMakeThreadsLoadAgain) {
  const Program p = default_schedule(layer_norm(8192, 1024), GpuMachine());
  const std::string ptx = EmulatedProgram(p).ptx();
  const size_t first = ptx.find(".entry"), second = ptx.find(".entry", first + 1);
  const std::string kernel = ptx.substr(first, second - first);
  EXPECT_LE(occurrences(kernel, "ld.global"), 5u) << kernel;
  EXPECT_EQ(occurrences(kernel, "st.global.v4.f32"), 3u) << kernel;
  EXPECT_EQ(occurrences(kernel, ".local"), 0u);
}

// Nothing of a thread lies in memory.
TEST(GpuColumns, SumsStayInRegisters) {
  const std::optional<cuda::Assembler> assembler = cuda::find_assembler();
  if (!assembler) GTEST_SKIP() << "there is no ptxas";
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{8192, 1024},
                                    {8192, 1000},
                                    {8191, 1001},
                                    {4096, 8192},
                                    {4096, 4096},
                                    {100000, 100},
                                    {32768, 64}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
    const EmulatedProgram program(default_schedule(layer_norm(rows, width), GpuMachine()));
    for (const int capability : {80, 90})
      for (const cuda::KernelFacts& kernel :
           cuda::assemble(*assembler, program.ptx(capability), "sm_" + std::to_string(capability))
               .kernels) {
        EXPECT_EQ(kernel.stack_bytes, 0) << kernel.name;
        EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name;
      }
  }
}

TEST(GpuColumns, NarrowAndSingleRowsAndColumns) {
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{1, 33}, {40, 1}, {97, 2}, {31, 7}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
    expect_right_in_blocks(default_schedule(layer_norm(rows, width), kOne), 1e-4);
  }
}

// As many sums as a gradient has: of minima, too, which have no zero.
TEST(GpuColumns, SeveralReductionsOfColumns) {
  expect_right_in_blocks(in_columns(
      parse_graph("def f(float(53, 37) x, float(53, 37) g) -> (dx, a, b, c) {\n"
                  " m(i) +=! x(i, r) * g(i, r)\n dx(i, j) = g(i, j) * m(i)\n"
                  " a(j) +=! dx(r, j)\n b(j) max=! dx(r, j)\n c(j) min=! x(r, j) * m(r)\n}")));
}

TEST(GpuColumns, DoubleRows) {
  expect_right_in_blocks(
      in_columns(parse_graph("def f(double(44, 24) x, double(44, 24) g) -> (dx, dw) {\n"
                             " m(i) +=! x(i, r)\n dx(i, j) = g(i, j) * m(i)\n"
                             " dw(j) +=! g(r, j) * x(r, j) * m(r)\n}")));
}

// A block knows how many others its multiprocessor gets, at most.
TEST(GpuColumns, FewBlocksMayHaveAllRegisters) {
  const auto ptx = [](const Graph& graph, const GpuMachine& machine) {
    return EmulatedProgram(default_schedule(graph, machine)).ptx();
  };
  const Graph rows = parse_graph("def f(float(8, 4096) x) -> (s) { s(i) +=! x(i, r) }");
  GpuMachine machine{.multiprocessors = 4};
  EXPECT_EQ(occurrences(ptx(rows, machine), ".minnctapersm 2"), 1u);
  machine.multiprocessors = 8;
  EXPECT_EQ(occurrences(ptx(rows, machine), ".minnctapersm 1"), 1u);
  machine.multiprocessors = 2;
  EXPECT_EQ(occurrences(ptx(rows, machine), ".minnctapersm"), 0u);
}

}  // namespace
}  // namespace adjit::testing
