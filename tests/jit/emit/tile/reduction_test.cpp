// tests/jit/emit/tile/reduction_test.cpp -- a register tile adds up: no masks but where an end is
// ragged, branches at the borders of an image.
#include "jit/emit/tile/reduction.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/image_windows.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// `rows` x `columns` tile of a product, in lanes of 8.
Program product_tile(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t columns) {
  Program p = initial_program(matmul_graph(m, n, k), CpuMachine{2, 512});
  p = reorder(std::move(p), 0, std::vector<size_t>{0, 1, 2});
  p = vectorize(std::move(p), 0, 1, 8);
  if (columns > 8) p = unroll(std::move(p), 0, 1, columns / 8);
  return rows > 1 ? unroll(std::move(p), 0, 0, rows) : p;
}

TEST(Reduction, WholeTilesNeedNoMasks) {
  const std::string ir = checked_ir(product_tile(12, 32, 40, 4, 16));
  EXPECT_EQ(multiply_adds(ir), 8u) << "4 rows of 2 vectors";
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 8u);
  EXPECT_EQ(occurrences(ir, "masked."), 0u);
  EXPECT_EQ(occurrences(ir, "alloca"), 0u) << "accumulators stay in registers";
  EXPECT_EQ(occurrences(ir, "phi <8 x float>"), 8u);
}

TEST(Reduction, RaggedRowsAreASmallerTile) {
  const std::string ir = checked_ir(product_tile(10, 32, 40, 4, 16));
  EXPECT_EQ(multiply_adds(ir), 8u + 4u) << "the last 2 rows in 2 vectors";
  EXPECT_EQ(occurrences(ir, "masked."), 0u);
}

TEST(Reduction, ARaggedRowIsStoredUnderOneMask) {
  const Program p = product_tile(8, 21, 40, 4, 16);
  checked_ir(p);
  const std::string ir = x86_ir(p, true);
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.fma"), 8u + 4u)
      << "16 columns, then 5 in one vector";
  EXPECT_EQ(occurrences(ir, "call void @llvm.masked.store"), 4u) << "one a ragged row";
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.masked.load"), 1u) << "B's row, for all rows";
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 8u);
}

TEST(Reduction, WithoutMaskRegistersARaggedRowIsStoredInPieces) {
  const std::string ir = x86_ir(product_tile(8, 21, 40, 4, 16), false);
  EXPECT_EQ(occurrences(ir, "@llvm.masked.store"), 0u);
  EXPECT_EQ(occurrences(ir, "store <4 x float>"), 4u) << "4 columns of 5";
  EXPECT_EQ(occurrences(ir, "store float"), 4u) << "the last one";
  for (int64_t columns : {2, 3, 5, 6, 7, 9, 14, 15}) checked_ir(product_tile(5, columns, 3, 2, 8));
}

TEST(Reduction, RaggedInBothDirections) {
  for (const auto& [m, n] : {std::pair{10, 21}, {5, 17}, {7, 31}, {4, 9}, {13, 16}}) {
    SCOPED_TRACE(n);
    checked_ir(product_tile(m, n, 11, 4, n >= 16 ? 16 : 8));
  }
}

TEST(Reduction, OperandsAreReadOncePerStep) {
  const std::string ir = checked_ir(product_tile(12, 32, 40, 4, 16));
  EXPECT_EQ(occurrences(ir, "= load <8 x float>"), 2u) << "B, for all 4 rows";
  EXPECT_EQ(occurrences(ir, "= load float"), 4u) << "A, for both vectors";
}

TEST(Reduction, ConvolutionsWithPaddingByConstraintsAndByPredicates) {
  for (const bool rows : {false, true})
    for (int64_t stride : {1, 2}) {
      Program p = initial_program(conv_graph(2, 3, 7, 11, 4, stride, rows), CpuMachine{2, 512});
      checked_ir(p);
      p = vectorize(std::move(p), 0, 3, 4);
      checked_ir(p);
      checked_ir(unroll(std::move(p), 0, 1, 2));
      p = initial_program(conv_graph(2, 3, 7, 11, 8, stride, rows), CpuMachine{2, 512});
      p = vectorize(std::move(p), 0, 1, 4);
      checked_ir(unroll(std::move(p), 0, 3, 3));
    }
}

// Windows of three rows of an image, without a border.
Graph inner_windows(const std::string& row, const std::string& how = "+") {
  return parse_graph("def main(float(3, 30, 32) x, float(3) w) -> (y) { y(c, i, j) " + how +
                     "=! x(c, " + row +
                     ", j) * w(r) where c in 0:3, i in 0:12, j in 0:32, r in 0:3 }");
}

// Eight lanes, so many instances along rows and the whole window.
Program tiled(const Graph& graph, int64_t rows) {
  return unroll(unroll(vectorize(plain(graph), 0, 2, 8), 0, 1, rows), 0, 3, 3);
}

size_t vector_loads(const Program& p) {
  return occurrences(EmittedProgram(p).ir(), " load <8 x float>");
}

TEST(Reduction, TakeASharedElementOnce) {
  for (const auto& [row, rows, loads] :
       std::vector<std::tuple<std::string, int64_t, size_t>>{{"i + r", 4, 6},
                                                             {"i - r + 2", 4, 6},
                                                             {"2 * i + r", 4, 9},
                                                             {"i + 2 * r", 4, 8},
                                                             {"i + 4 * r", 4, 12},
                                                             {"i + r", 2, 4}}) {
    const Program p = tiled(inner_windows(row), rows);
    expect_right(p);
    EXPECT_EQ(vector_loads(p), loads) << row;
  }
}

// The loads of a tile in the order of their addresses, each before what multiplies it: one is kept
// at a time.
TEST(Reduction, OneElementIsKeptAtATime) {
  const std::string ir = EmittedProgram(tiled(inner_windows("i + r"), 4)).ir();
  size_t at = ir.find(" load <8 x float>"), together = 0;
  while (at != std::string::npos) {
    const size_t next = ir.find(" load <8 x float>", at + 1);
    const size_t used = ir.find(target_has_fma() ? "fma" : "fmul", at);
    together += next < used;
    at = next;
  }
  EXPECT_EQ(together, 0u) << ir;
}

// Every result adds up in the order of its reduction, whatever is shared.
TEST(Reduction, OrdersThatCombinersNeed) {
  for (const char* row : {"i + r", "i - r + 2"}) {
    for (const char* how : {"max", "*"}) expect_right(tiled(inner_windows(row, how), 4));
    const Graph winners = parse_graph(
        std::string(
            "def main(float(3, 30, 32) x) -> (y, p) { (y, p)(c, i, j) argmax=![first] (x(c, ") +
        row + ", j), int32(r)) where c in 0:3, i in 0:12, j in 0:32, r in 0:3 }");
    expect_right(tiled(winners, 4));
  }
}

// A tile at the border asks for each row of the image once, and branches: 6 rows for 12 instances
// of each column of the window.
TEST(Reduction, RowsOfAnImageAreAskedOnceForAllThatReadThem) {
  Program p = unroll(vectorize(plain(image_windows()), 0, 2, 8), 0, 1, 4);
  p = unroll(std::move(p), 0, 3, 3);
  expect_right(p);
  const std::string ir = EmittedProgram(p).ir();
  EXPECT_EQ(occurrences(ir, "\nthen"), 2u) << "the first row and the last one";
  EXPECT_EQ(occurrences(ir, "\neither"), 2u) << "inside, inside but for lanes, and at the border";
  const size_t border = ir.find("\nor");
  EXPECT_EQ(occurrences(ir.substr(border), "insertelement <8 x i1>"), 0u)
      << "no row of the image masks lanes";
  expect_right(unroll(p, 0, 4, 3));
  EXPECT_EQ(
      occurrences(EmittedProgram(unroll(vectorize(plain(image_windows()), 0, 2, 8), 0, 3, 3)).ir(),
                  "\nthen"),
      0u)
      << "one contribution is not worth a branch";
}

TEST(Reduction, BordersOfEveryKind) {
  for (const char* constraints : {"", ", q = (i + r_b) // 2, i + r_b == 2 * q", ", r_a == r_b",
                                  ", r_b <= i", ", c + i >= 3", ", c + r_a >= 1"})
    for (const int64_t instances : {2, 5, 24}) {
      const Program p =
          unroll(vectorize(plain(image_windows("+", constraints)), 0, 2, 8), 0, 1, instances);
      expect_right(unroll(p, 0, 3, 3));
      expect_right(unroll(unroll(p, 0, 3, 3), 0, 4, 3));
      expect_right(unroll(unroll(p, 0, 3, 2), 0, 0, 2));
    }
}

// Branches for rows of an image do not change the order in which points come to combiners that
// need one: of equal numbers the first (or last) wins.
TEST(Reduction, BordersOfCombinersInOrder) {
  const std::string domain =
      " where c in 0:3, i in 0:24, j in 0:32, r in 0:3, i + r >= 1, i + r <= 24";
  for (const char* how : {"argmax=![first]", "argmin=![first]", "argmax=!", "argmin=!"}) {
    const Graph graph =
        parse_graph(std::string("def main(float(3, 24, 32) x) -> (y, p) { (y, p)(c, i, j) ") + how +
                    " (floor(x(c, i + r - 1, j) * 0.3), int32(r))" + domain + " }");
    const Program p = unroll(unroll(vectorize(plain(graph), 0, 2, 8), 0, 1, 4), 0, 3, 3);
    expect_right(p);
  }
}

}  // namespace
}  // namespace adjit::testing
