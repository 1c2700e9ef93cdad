// Predicted costs: what must be cheaper than what, growth with work, terms by hand.
#include "autosched/cpu/cost/cost.hpp"

#include <functional>

#include "autosched/search/explain.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// What holds of the analytic model; the learned part is tested in network_test.cpp.
ProgramCost analytic(const Program& program, const CpuMachine& machine = kOneCore) {
  return predict(program, machine, nullptr);
}
double cost(const Program& program, const CpuMachine& machine = kOneCore) {
  return analytic(program, machine).microseconds;
}
Program scheduled(const Graph& graph, const CpuMachine& machine = kOneCore) {
  return default_schedule(graph, machine);
}
double term(const KernelCost& kernel, CostTerm which) {
  double sum = 0;
  for (const NestCost& nest : kernel.nests) sum += nest.terms[static_cast<size_t>(which)];
  return sum;
}

Graph copy_graph(int64_t rows, int64_t columns, bool transposed) {
  Builder b;
  const TensorId x = transposed ? b.input("x", {columns, rows}) : b.input("x", {rows, columns});
  const ExprId value =
      transposed ? b.at(x, {b.axis(1), b.axis(0)}) : b.at(x, {b.axis(0), b.axis(1)});
  b.output(b.stage("y", {rows, columns}, 2, CombinerKind::None,
                   b.graph.pool.add(value, b.graph.pool.constant(1.0, DType::Float32))));
  return b.graph;
}

// Rows of a table in the order of `index`, or in their own.
Graph rows_graph(int64_t rows, int64_t columns, bool by_data) {
  Builder b;
  const TensorId x = b.input("x", {rows, columns});
  const TensorId index = add_input(b.graph, "index", DType::Int64, {rows});
  const ExprId row = by_data ? b.at(index, {b.axis(0)}) : b.axis(0);
  b.output(b.stage("y", {rows, columns}, 2, CombinerKind::None, b.at(x, {row, b.axis(1)})));
  return b.graph;
}

TEST(Cost, TiledProductsAreCheaper) {
  const Graph g = matmul_graph(256, 256, 256);
  const Program untiled = plain(g, 1);
  const Program lanes = vectorize(untiled, 0, 1, 16);
  EXPECT_LT(cost(lanes), cost(untiled));
  const Program tiled = unroll(unroll(lanes, 0, 0, 12), 0, 1, 2);
  EXPECT_LT(cost(tiled), 0.5 * cost(lanes));
  EXPECT_LE(cost(scheduled(g)), 1.05 * cost(tiled));
}

// Zen 4: a product of 256 x 256 takes 1.5 and 2.4 times as long with tiles of 20 x 2 and 16 x 4
// vectors as with 14 x 2, which fit into 32 registers.
TEST(Cost, TilesThatRegistersDoNotHoldCostMore) {
  const Program lanes = vectorize(plain(matmul_graph(256, 256, 256), 1), 0, 1, 16);
  const auto tiled = [&](int64_t rows, int64_t vectors) {
    return cost(unroll(unroll(lanes, 0, 0, rows), 0, 1, vectors));
  };
  EXPECT_GT(tiled(20, 2), 1.2 * tiled(14, 2));
  EXPECT_GT(tiled(16, 4), 1.7 * tiled(14, 2));
  EXPECT_LT(tiled(14, 2), 1.1 * tiled(12, 2));
}

TEST(Cost, ContiguousReadsAreCheaper) {
  const Program along = vectorize(plain(copy_graph(1024, 1024, false), 1), 0, 1, 16);
  const Program across = vectorize(plain(copy_graph(1024, 1024, true), 1), 0, 1, 16);
  EXPECT_LT(2 * cost(along), cost(across));
}

TEST(Cost, RowsThatDataFindsCostMore) {
  const Graph in_order = rows_graph(1 << 16, 16, false), by_data = rows_graph(1 << 16, 16, true);
  EXPECT_LT(1.5 * cost(scheduled(in_order)), cost(scheduled(by_data)));
  EXPECT_EQ(term(analytic(scheduled(in_order), kOneCore).kernels[0], CostTerm::Scattered), 0);
}

TEST(Cost, FusedIsCheaperWhereMemoryLimits) {
  const Graph g = chain(4, 1 << 22);
  Program apart = plain(g, 1);
  for (size_t s = 0; s < 4; ++s) apart = vectorize(std::move(apart), s, 0, 16);
  const size_t first_three[] = {0, 1, 2};
  const Program fused = vectorize(inline_stages(plain(g, 1), first_three), 0, 0, 16);
  EXPECT_LT(2 * cost(fused), cost(apart));
}

TEST(Cost, RowsAttachedReadMemoryOnce) {
  const Graph g = softmax_graph(8192, 1024);
  const ProgramCost attached = analytic(scheduled(g), kOneCore),
                    apart = analytic(plain(g, 1), kOneCore);
  ASSERT_EQ(attached.kernels.size(), 1U);
  double memory = 0;
  for (const KernelCost& kernel : apart.kernels) memory += term(kernel, CostTerm::Memory);
  EXPECT_LT(2 * term(attached.kernels[0], CostTerm::Memory), memory);
}

TEST(Cost, GrowsWithWork) {
  for (const auto& make : std::vector<std::function<Graph(int64_t)>>{
           [](int64_t n) { return matmul_graph(128 * n, 256, 256); },
           [](int64_t n) { return softmax_graph(65536 * n, 256); },
           [](int64_t n) { return chain(3, n << 23); },
           [](int64_t n) { return conv_graph(4 * n, 16, 28, 28, 32); }})
    for (int64_t n = 1; n < 8; n *= 2) {
      const double ratio = cost(scheduled(make(2 * n))) / cost(scheduled(make(n)));
      EXPECT_GT(ratio, 1.8) << n;
      EXPECT_LT(ratio, 2.2) << n;
    }
}

TEST(Cost, ArithmeticByHand) {
  // One multiply-add a lane: 256^3 / 16 vectors, one a cycle.
  const ProgramCost c = analytic(scheduled(matmul_graph(256, 256, 256)), kOneCore);
  const double expected = 256.0 * 256 * 256 / 16 / (1e3 * kOneCore.ghz);
  EXPECT_NEAR(term(c.kernels.back(), CostTerm::Arithmetic), expected, 0.01 * expected);
  CpuMachine wide = kOneCore;
  wide.fma_bits = 1024;
  const ProgramCost half = analytic(scheduled(matmul_graph(256, 256, 256)), wide);
  EXPECT_NEAR(term(half.kernels.back(), CostTerm::Arithmetic), expected / 2, 0.01 * expected);
}

TEST(Cost, TasksThatDoNotEvenOutLeaveCoresIdle) {
  const Graph g = chain(1, 3 << 14);
  const int64_t third[] = {1 << 14}, half[] = {3 << 13};
  CpuMachine two = kOneCore;
  two.cores = 2;
  two.memory_gb = 1e6;
  two.pool_microseconds = two.task_microseconds = 0;
  const Program three = parallel(tile(plain(g, 1), 0, 0, third), 0, 1);
  const Program even = parallel(tile(plain(g, 1), 0, 0, half), 0, 1);
  EXPECT_NEAR(analytic(three, two).kernels[0].cores, 1.5, 1e-9);
  EXPECT_NEAR(cost(three, two) / cost(even, two), 4.0 / 3, 0.02);
}

TEST(Cost, IsAFunctionOfProgramAndTarget) {
  const Program p = scheduled(conv_graph(2, 16, 28, 28, 32, 2, true));
  EXPECT_EQ(cost(p), cost(p));
  const Program again =
      replay(conv_graph(2, 16, 28, 28, 32, 2, true), p.moves_json, CpuMachine{1, 512});
  EXPECT_EQ(cost(again), cost(p));
}

TEST(Cost, Roofline) {
  EXPECT_NEAR(roofline(1e9, 0, kOneCore, true), 1e6 / (32 * kOneCore.ghz), 1e-6);
  EXPECT_NEAR(roofline(0, 1e9, kOneCore, true), 1e6 / kOneCore.memory_gb_per_core, 1e-6);
  EXPECT_LT(roofline(0, 1e9, kOneCore, false), roofline(0, 1e9, kOneCore, true));
}

}  // namespace
}  // namespace adjit::sched
