// tests/autosched/cpu/tile/choose_tile_test.cpp -- lanes and instances of register tiles.
#include "autosched/cpu/tile/choose_tile.hpp"

#include <gtest/gtest.h>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Copies = std::vector<int64_t>;

TileChoice tile_of(const Graph& graph, int bits) {
  const LoweredGraph g(graph);
  const Stage& stage = g.stages[0];
  const Accesses accesses = accesses_of(g, stage);
  const CpuMachine machine{.vector_bits = bits};
  return choose_reduction_tile({g, stage, accesses, stage.domain.extents, machine, 0, false});
}

// Lanes along what the reads have contiguous; of the results, four neighbours together.
TEST(TileChoice, TranspositionsGoInPiecesOfRows) {
  const Graph g = parse_graph(
      "def f(float(40, 24) a, float(40, 24) b) -> (y) {\n y(i, j) = a(j, i) * b(j, i) where i in "
      "0:24, j in 0:40\n}");
  const Program p = default_schedule(g, CpuMachine{1, 256});
  const Nest& nest = nest_of(p, stage_of(p, "y"));
  EXPECT_EQ(nest.loops.back().axis, 0U) << print(p);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  const Loop& instances = nest.loops[nest.loops.size() - 2];
  EXPECT_EQ(instances.axis, 1U);
  EXPECT_EQ(instances.kind, LoopKind::Unrolled);
  EXPECT_EQ(instances.trips, 4);
  expect_faithful(p, g);
}

TEST(TileChoice, CopiesComeOutEven) {
  const auto instances = [](int64_t extent) {
    Builder b;
    const TensorId x = b.input("x", {10, extent});
    b.output(b.stage("y", {10, extent}, 2, CombinerKind::None,
                     b.graph.pool.make(Op::Exp, {b.at(x, {b.axis(0), b.axis(1)})})));
    const LoweredGraph graph(b.graph);
    const Stage& stage = graph.stages[0];
    const CpuMachine machine;
    return choose_pointwise_tile(
               {graph, stage, accesses_of(graph, stage), stage.domain.extents, machine, 0, false})
        .factors[1];
  };
  EXPECT_EQ(instances(48), 3);
  EXPECT_EQ(instances(80), 5);
  EXPECT_EQ(instances(16 * 7), 1);
  EXPECT_EQ(instances(16 * 61), 4);
}

TEST(TileChoice, AMatrixProductFillsTheRegisters) {
  const TileChoice wide = tile_of(matmul_graph(512, 512, 512), 512);
  EXPECT_EQ(wide.vector_axis, 1u);
  EXPECT_EQ(wide.lanes, 16);
  EXPECT_EQ(wide.factors, (Copies{14, 2, 1}));
  const TileChoice narrow = tile_of(matmul_graph(512, 512, 512), 256);
  EXPECT_EQ(narrow.lanes, 8);
  EXPECT_LE(narrow.factors[0] * narrow.factors[1] + narrow.factors[1] + 1, 16);
  EXPECT_GE(narrow.factors[0] * narrow.factors[1], 8);
}

// With 16 registers its operands do not all stay in some, but it is the exponential that must not
// be computed once for each j.
TEST(TileChoice, HeavyBodiesShareFunctionsRatherThanKeepOperands) {
  const Graph g = parse_graph(
      "def f(float(3, 400) x, float(300, 3) y, float(4, 400) c, float(300, 4) b) -> (d) {\n"
      " d(i, j) +=! exp((x(0, i) - y(r, 0)) * (x(0, i) - y(r, 0)) + (x(1, i) - y(r, 1)) * (x(1, i) "
      "- y(r, 1)) + (x(2, i) - y(r, 2)) * (x(2, i) - y(r, 2))) * (c(0, i) * b(r, 0) + c(1, i) * "
      "b(r, 1) + c(2, i) * b(r, 2) + c(3, i) * b(r, 3)) * (x(j, i) - y(r, j))\n"
      " where i in 0:400, j in 0:3, r in 0:300\n}");
  for (const int bits : {128, 256, 512}) EXPECT_EQ(tile_of(g, bits).factors[1], 3) << bits;
}

TEST(TileChoice, RowsUseLanesOfTheReduction) {
  const Graph g = softmax_graph(64, 1024);  // its first stage is a max over rows
  EXPECT_EQ(tile_of(g, 512).vector_axis, 1u);
  EXPECT_EQ(tile_of(column_sum_graph(1024, 64), 512).vector_axis, 0u);
}

// Columns of a large operand, walked down a long reduction: lanes along its rows, so that blocks of
// the reduction use each line that they fetch; lanes along the 16 would fetch it for every tile.
TEST(TileChoice, LongReductionsReadWholeLines) {
  const Graph wide = parse_graph(
      "def main(float(4096, 2048) g, float(4096, 16) a) -> (d) {\n"
      "  d(i, j) +=! g(r_k, j) * a(r_k, i) where i in 0:16, j in 0:2048, r_k in 0:4096\n}");
  for (int bits : {128, 256, 512}) EXPECT_EQ(tile_of(wide, bits).vector_axis, 1u) << bits;
}

}  // namespace
}  // namespace adjit::sched
