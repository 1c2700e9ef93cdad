// tests/autosched/gpu/products/operand_copy_test.cpp -- what blocks copy of operands, and compute.
#include "autosched/gpu/products/operand_copy.hpp"

#include "autosched/gpu/products/product_loops.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/products/looped_product.hpp"

namespace adjit::sched {
namespace {

// Neighbours of a warp read what follows each other in memory, and write what does in the copy.
TEST(OperandCopy, OperandsAreCopiedFromEitherLayout) {
  const Program as_they_lie = looped(product_graph(64, 96, 40, true, false));
  EXPECT_EQ(loops_of(as_they_lie, "A_packed"), "thread:i:8 thread:j:4 vector:j:4");
  EXPECT_EQ(loops_of(as_they_lie, "B_packed"), "thread:i:8 thread:j:8 vector:j:4");
  const Program across = looped(product_graph(64, 96, 40, false, true));
  EXPECT_EQ(loops_of(across, "A_packed"), "thread:j:16 thread:i:2 vector:i:4");
  EXPECT_EQ(loops_of(across, "B_packed"), "thread:j:2 thread:j:16 thread:i:2 vector:i:4");
  const Program odd = looped(product_graph(64, 96, 39, false, true));
  EXPECT_EQ(loops_of(odd, "A_packed"), "serial:j:2 thread:j:2 thread:j:4 thread:i:8")
      << "rows are no whole vectors";
}

// Rows of eight follow each other along k, which the operand divides.
TEST(OperandCopy, FusedAxesAreReadAlongWhatLiesSideBySide) {
  const Program p =
      looped(parse_graph("def f(float(20, 48) w, float(6, 40, 8) x) -> (c) {\n"
                         " y(k, n) = x(k // 8, n, k % 8) where k in 0:48, n in 0:40\n"
                         " c(m, n) +=! w(m, k) * y(k, n)\n}"));
  EXPECT_EQ(loops_of(p, "y_packed"), "serial:j:4 thread:j:2 thread:j:4 thread:i:8");
}

// Filters that an adjoint reads across are brought into its order once, for all images.
TEST(OperandCopy, SmallOperandsThatLieApartAreShapedOnce) {
  const auto kernels = [](int64_t images) {
    const Graph graph =
        parse_graph("def f(float(16, 96, 9) w, float(" + std::to_string(images) +
                    ", 144, 256) x) -> (c) {\n"
                    " v(m, k) = w(k % 16, 3 * m, k // 16) where m in 0:32, k in 0:144\n"
                    " c(i, m, n) +=! v(m, k) * x(i, k, n)\n}");
    Program p = initial_program(graph, GpuMachine{});
    return product_loops(std::move(p), 1, kTile).kernels.size();
  };
  EXPECT_EQ(kernels(1), 1u);
  EXPECT_EQ(kernels(512), 2u);
}

// An image that only this product reads is never stored: its tiles are made where they are read.
TEST(OperandCopy, WhatIsShapedForTheProductIsShapedInItsLoops) {
  const Graph graph = parse_graph(
      "def f(float(20, 24) w, float(64) x) -> (c) {\n"
      " y(k, n) = x(k + n) where k in 0:24, n in 0:40\n c(m, n) +=! w(m, k) * y(k, n)\n}");
  const Program p = looped(graph);
  EXPECT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(stage_named(p, "y"), SIZE_MAX);
  const Program kept = looped(parse_graph(
      "def f(float(20, 24) w, float(64) x) -> (c, y) {\n"
      " y(k, n) = x(k + n) where k in 0:24, n in 0:40\n c(m, n) +=! w(m, k) * y(k, n)\n}"));
  EXPECT_EQ(kept.kernels.size(), 2u) << "the caller reads it, too";
}

// So is what is computed, unless so many blocks would do it again that a kernel of its own takes
// less.
TEST(OperandCopy, WhatIsComputedForTheProductIsComputedInItsLoops) {
  const auto kernels = [](const std::string& value, int64_t rows) {
    const Graph graph =
        parse_graph("def f(float(" + std::to_string(rows) +
                    ", 24) w, float(24, 4096) x, float(4096) v) -> (c) {\n y(k, n) = " + value +
                    "\n c(m, n) +=! w(m, k) * y(k, n)\n}");
    return product_loops(initial_program(graph, GpuMachine{}), 1, kTile).kernels.size();
  };
  EXPECT_EQ(kernels("x(k, n) - v(n)", 20), 1u);
  EXPECT_EQ(kernels("exp(x(k, n) - v(n))", 20), 1u);
  EXPECT_EQ(kernels("exp(x(k, n) - v(n))", 4096), 2u) << "256 blocks would compute each value";
  EXPECT_EQ(kernels("x(k, n) - v(int64(v(n)))", 20), 2u) << "found with data";
  for (const int64_t extent : {32, 37, 64})
    looped(parse_graph("def f(float(20, 40) w, float(40, " + std::to_string(extent) +
                       ") x, float(40) v) -> (c) {\n y(n, k) = select(n < 3, 0.0, x(k, n) - v(k))"
                       " where n in 0:" +
                       std::to_string(extent) +
                       ", k in 0:40\n"
                       " c(m, n) +=! w(m, k) * y(n, k)\n}"));
}

// Rows whose last ones are missing are still loaded in vectors: a row is there or not.
TEST(OperandCopy, TilesThatReachPastTheEndAreLoadedInVectors) {
  const Program p = looped(product_graph(60, 96, 40, false, false));
  EXPECT_EQ(loops_of(p, "A_packed"), "thread:j:16 thread:i:2 vector:i:4");
}

TEST(OperandCopy, OneReaderAloneMayComputeATensor) {
  const Program p = initial_program(
      parse_graph("def f(float(20, 24) w, float(24, 40) x) -> (c, d) {\n"
                  " y(k, n) = exp(x(k, n))\n z(k, n) = x(k, n) - 1.0\n s(k) +=! x(k, n)\n"
                  " c(m, n) +=! w(m, k) * y(k, n)\n"
                  " d(m, n) +=! w(m, k) * z(k, n) * s(k) * c(m, n)\n}"),
      GpuMachine{});
  const auto may = [&](const std::string& value, const std::string& reader) {
    const Stage& made = p.graph.stages[stage_named(p, value)];
    return may_be_computed_by_blocks(p, made.results[0], p.graph.stages[stage_named(p, reader)]);
  };
  EXPECT_TRUE(may("y", "c"));
  EXPECT_TRUE(may("z", "d"));
  EXPECT_FALSE(may("y", "d")) << "another one reads it";
  EXPECT_FALSE(may("s", "d")) << "a sum";
  EXPECT_FALSE(may("c", "d")) << "the caller reads it";
  EXPECT_FALSE(may_be_computed_by_blocks(p, p.graph.inputs[0], p.graph.stages[3]))
      << "the caller's";
}

// Found by an attack: what one operand was computed of was gone when the other was copied.
TEST(OperandCopy, ATensorThatIsBothOperandsIsStored) {
  for (const char* product : {"z(i, k) * z(j, k)", "z(k, i) * z(k, j)"}) {
    const Program p =
        looped(parse_graph("def f(float(40, 40) x) -> (c) {\n z(i, k) = exp(x(i, k))\n"
                           " c(i, j) +=! " +
                           std::string(product) + "\n}"));
    EXPECT_EQ(p.kernels.size(), 2u);
  }
}

// Found by an attack: the product lost its tiles.
TEST(OperandCopy, WhatHasRowsOrTilesOfItsOwnIsStored) {
  Program p = initial_program(parse_graph("def f(float(64, 40) x, float(40, 64) w) -> (c) {\n"
                                          " s(i) +=! x(i, r)\n y(i, k) = x(i, k) / s(i)\n"
                                          " c(i, j) +=! y(i, k) * w(k, j)\n}"),
                              GpuMachine{});
  const TensorId y = p.graph.stages[1].results[0];
  EXPECT_TRUE(may_be_computed_by_blocks(p, y, p.graph.stages[2]));
  const Program in_rows = compute_at(p, 0, 1, 1);
  EXPECT_FALSE(may_be_computed_by_blocks(in_rows, y, in_rows.graph.stages[2]));
  const Program looped = parallel(p, 1, 1);
  EXPECT_FALSE(may_be_computed_by_blocks(looped, y, looped.graph.stages[2]));
}

}  // namespace
}  // namespace adjit::sched
