// tests/jit/emit/gpu_kernels_test.cpp -- code for GPUs: what it costs, and that there is some for
// every operation.
#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "jit/cuda/assembler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/jit/emit/gpu_numbers.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kMuladd =
    "def main(float(64, 128) x, float(64, 128) z) -> (y) { y(i, j) = x(i, j) * 2.0 + z(i, j) }";
constexpr const char* kAdjoint =
    "def main(float(64, 128) x, float(64, 128) w, float(64, 128) g) -> (dx, dw) {\n"
    " t(i, j) = tanh(x(i, j) * w(i, j))\n d(i, j) = g(i, j) * (1.0 - t(i, j) * t(i, j))\n"
    " dx(i, j) = d(i, j) * w(i, j)\n dw(i, j) = d(i, j) * x(i, j)\n}";
constexpr const char* kRowSum =
    "def main(float(64, 128) x) -> (s) { s(i) +=! x(i, r) where i in 0:64, r in 0:128 }";

// Assembled for the oldest GPUs and for those of today: nothing of a thread lies in memory.
void expect_in_registers(const EmulatedProgram& program) {
  const std::optional<cuda::Assembler> assembler = cuda::find_assembler();
  if (!assembler) return;
  for (const int capability : {80, 90}) {
    const std::string gpu = "sm_" + std::to_string(capability);
    const std::string ptx = program.ptx(capability);
    const std::vector<cuda::KernelFacts> kernels = cuda::assemble(*assembler, ptx, gpu).kernels;
    note_assembled(ptx, kernels);
    for (const cuda::KernelFacts& kernel : kernels) {
      EXPECT_EQ(kernel.stack_bytes, 0) << kernel.name << " on " << gpu;
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name << " on " << gpu;
      EXPECT_LE(kernel.registers, 64) << kernel.name << " on " << gpu;
    }
  }
}

void expect_right_for_seeds(const Program& program) {
  if (!kEmulates) return;
  const std::vector<Array> inputs = small_inputs(program.graph, 3);
  const std::vector<Array> expected = interpret(program, inputs);
  for (const int64_t alignment : {0, 16}) {
    const EmulatedProgram emulated(program, alignment);
    for (uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(difference(expected, emulated(inputs, seed), 1e-5), "") << seed;
  }
}

TEST(GpuKernels, VectorsAreLoadedAndStoredWholeWhereTheyAreAligned) {
  const Program p = flat_program(parse_graph(kMuladd));
  const std::string ptx = EmulatedProgram(p).ptx();
  EXPECT_EQ(occurrences(ptx, "ld.global.nc.v4.f32"), 2u) << ptx;
  EXPECT_EQ(occurrences(ptx, "st.global.v4.f32"), 1u) << ptx;
  EXPECT_EQ(occurrences(ptx, "fma.rn.f32"), 0u) << "a product and a sum round twice\n" << ptx;
  const std::string unaligned = EmulatedProgram(p, 0).ptx();
  EXPECT_EQ(occurrences(unaligned, "ld.global.nc.f32"), 8u) << unaligned;
  expect_in_registers(EmulatedProgram(p));
  expect_right_for_seeds(p);
}

// One branch for all lanes that a condition turns off together.
TEST(GpuKernels, AVectorUnderAConditionIsLoadedWhole) {
  const Program p = flat_program(parse_graph(
      "def main(float(64, 128) x) -> (y) { y(i, j) = x(i - 1, j where 1 <= i) where i in 0:65, j "
      "in 0:128 }"));
  const std::string ptx = EmulatedProgram(p).ptx();
  EXPECT_LE(occurrences(ptx, "ld.global"), 2u) << ptx;
  EXPECT_EQ(occurrences(ptx, "bra"), 2u) << ptx;
  expect_in_registers(EmulatedProgram(p));
  expect_right_for_seeds(p);
}

TEST(GpuKernels, PositionsAreComputedInHalfTheBits) {
  const std::string ptx = EmulatedProgram(flat_program(parse_graph(kMuladd))).ptx();
  EXPECT_EQ(occurrences(ptx, "mul.lo.s64") + occurrences(ptx, "rem.u64"), 0u) << ptx;
  EXPECT_EQ(occurrences(ptx, "cvta"), 0u) << "addresses are those of global memory\n" << ptx;
}

TEST(GpuKernels, AnElementwiseAdjointIsInRegisters) {
  const Program p = flat_program(parse_graph(kAdjoint));
  expect_in_registers(EmulatedProgram(p));
  expect_right_for_seeds(p);
}

TEST(GpuKernels, ARowSumIsInRegisters) {
  const Program p = flat_program(parse_graph(kRowSum));
  EXPECT_EQ(occurrences(EmulatedProgram(p).ptx(), ".local"), 0u);
  expect_in_registers(EmulatedProgram(p));
  expect_right_for_seeds(p);
}

// What the back end cannot select would be an error.
void expect_code(Op op, DType dtype, int64_t lanes) {
  Graph graph;
  const std::vector<ExprId> at{graph.pool.axis(0)};
  std::vector<ExprId> operands;
  for (int k = 0; k < info(op).arity; ++k) {
    const bool condition = op == Op::Select && k == 0;
    operands.push_back(
        read(graph,
             add_input(graph, "x" + std::to_string(k), condition ? DType::Bool : dtype, {64}), at));
  }
  ExprId body;
  try {
    body = graph.pool.make(op, operands);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DType) << error.what();
    return;
  }
  Domain domain;
  domain.extents = {64};
  domain.output_rank = 1;
  graph.outputs = add_compute(graph, "y", domain, {}, {body});
  Program p = initial_program(graph, GpuMachine{});
  if (lanes > 0) p = vectorize(std::move(p), 0, 0, lanes);
  p = parallel(std::move(p), 0, 1);
  try {
    const EmulatedProgram program(p);
    for (const int capability : {80, 90}) program.ptx(capability);
  } catch (const Error& error) {
    ADD_FAILURE() << info(op).id << " of " << name_of(dtype) << " in " << lanes
                  << " lanes: " << error.what();
  }
}

constexpr DType kDTypes[] = {DType::Bool,    DType::UInt8,  DType::Int8,    DType::Int16,
                             DType::Int32,   DType::Int64,  DType::Float16, DType::BFloat16,
                             DType::Float32, DType::Float64};

TEST(GpuKernels, EveryOperationOfEveryDTypeHasCode) {
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    if (info(op).rule == TypeRule::Leaf || info(op).rule == TypeRule::Cast) continue;
    for (const DType dtype : kDTypes)
      for (const int64_t lanes : {0, 2, 4, 8, 16}) expect_code(op, dtype, lanes);
  }
}

TEST(GpuKernels, EveryCastHasCode) {
  for (const DType from : kDTypes)
    for (const DType to : kDTypes)
      for (const int64_t lanes : {0, 4, 16}) {
        Graph graph;
        const std::vector<ExprId> at{graph.pool.axis(0)};
        const ExprId x = read(graph, add_input(graph, "x", from, {64}), at);
        Domain domain;
        domain.extents = {64};
        domain.output_rank = 1;
        graph.outputs = add_compute(graph, "y", domain, {}, {graph.pool.cast(x, to)});
        Program p = initial_program(graph, GpuMachine{});
        if (lanes > 0) p = vectorize(std::move(p), 0, 0, lanes);
        try {
          const EmulatedProgram program(p);
          for (const int capability : {80, 90}) program.ptx(capability);
        } catch (const Error& error) {
          ADD_FAILURE() << name_of(from) << " to " << name_of(to) << " in " << lanes
                        << " lanes: " << error.what();
        }
      }
}

}  // namespace
}  // namespace adjit::testing
