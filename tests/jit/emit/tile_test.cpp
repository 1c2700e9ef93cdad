// tests/jit/emit/tile_test.cpp -- the register tile: accumulators in registers, one store a row,
// masks only where an end is ragged.
#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Steps = std::vector<int64_t>;

// `rows` x `columns` tile of a product, in lanes of 8.
Program product_tile(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t columns) {
  Program p = initial_program(matmul_graph(m, n, k), 2, 512);
  p = reorder(std::move(p), 0, std::vector<size_t>{0, 1, 2});
  p = vectorize(std::move(p), 0, 1, 8);
  if (columns > 8) p = unroll(std::move(p), 0, 1, columns / 8);
  return rows > 1 ? unroll(std::move(p), 0, 0, rows) : p;
}

size_t fused(const std::string& ir) {
  return occurrences(ir, target_has_fma() ? "call <8 x float> @llvm.fma" : "fmul <8 x float>");
}

// IR for an x86 of 256-bit vectors, with mask registers or without; it is not run.
std::string emitted(const Program& program, bool masks) {
  std::vector<TensorLayout> layouts;
  for (const TensorInfo& t : program.graph.tensors) layouts.push_back(contiguous_layout(t.shape));
  const TargetFeatures features = from_feature_string(
      masks ? "+sse4.1,+avx2,+fma,+f16c,+avx512f,+avx512vl" : "+sse4.1,+avx2,+fma");
  const EmittedKernel kernel = emit_kernel(program, 0, layouts, features, "k");
  std::string text;
  llvm::raw_string_ostream(text) << *kernel.module;
  return text;
}

TEST(Tile, WholeTilesNeedNoMasks) {
  const std::string ir = checked_ir(product_tile(12, 32, 40, 4, 16));
  EXPECT_EQ(fused(ir), 8u) << "4 rows of 2 vectors";
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 8u);
  EXPECT_EQ(occurrences(ir, "masked."), 0u);
  EXPECT_EQ(occurrences(ir, "alloca"), 0u) << "accumulators stay in registers";
  EXPECT_EQ(occurrences(ir, "phi <8 x float>"), 8u);
}

TEST(Tile, RaggedRowsAreASmallerCopy) {
  const std::string ir = checked_ir(product_tile(10, 32, 40, 4, 16));
  EXPECT_EQ(fused(ir), 8u + 4u) << "the last 2 rows in 2 vectors";
  EXPECT_EQ(occurrences(ir, "masked."), 0u);
}

TEST(Tile, ARaggedRowIsStoredUnderOneMask) {
  const Program p = product_tile(8, 21, 40, 4, 16);
  checked_ir(p);
  const std::string ir = emitted(p, true);
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.fma"), 8u + 4u)
      << "16 columns, then 5 in one vector";
  EXPECT_EQ(occurrences(ir, "call void @llvm.masked.store"), 4u) << "one a ragged row";
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.masked.load"), 1u) << "B's row, for all rows";
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 8u);
}

TEST(Tile, WithoutMaskRegistersARaggedRowIsStoredInPieces) {
  const std::string ir = emitted(product_tile(8, 21, 40, 4, 16), false);
  EXPECT_EQ(occurrences(ir, "@llvm.masked.store"), 0u);
  EXPECT_EQ(occurrences(ir, "store <4 x float>"), 4u) << "4 columns of 5";
  EXPECT_EQ(occurrences(ir, "store float"), 4u) << "the last one";
  for (int64_t columns : {2, 3, 5, 6, 7, 9, 14, 15}) checked_ir(product_tile(5, columns, 3, 2, 8));
}

TEST(Tile, RaggedInBothDirections) {
  for (const auto& [m, n] : {std::pair{10, 21}, {5, 17}, {7, 31}, {4, 9}, {13, 16}}) {
    SCOPED_TRACE(n);
    checked_ir(product_tile(m, n, 11, 4, n >= 16 ? 16 : 8));
  }
}

TEST(Tile, OperandsAreReadOncePerStep) {
  const std::string ir = checked_ir(product_tile(12, 32, 40, 4, 16));
  EXPECT_EQ(occurrences(ir, "= load <8 x float>"), 2u) << "B, for all 4 rows";
  EXPECT_EQ(occurrences(ir, "= load float"), 4u) << "A, for both vectors";
}

TEST(Tile, ChainsOfAReductionAreFoldedByATree) {
  for (int64_t n : {64, 67, 40, 33}) {
    SCOPED_TRACE(n);
    Program p = vectorize(initial_program(total_graph(3, n), 1, 512), 0, 1, 8);
    p = unroll(std::move(p), 0, 1, 4);
    const std::string ir = checked_ir(p);
    EXPECT_EQ(occurrences(ir, "alloca"), 0u);
    EXPECT_EQ(occurrences(ir, "store float"), 1u);
  }
}

// A reduction's ragged lanes must not count, those of the result must not be stored.
TEST(Tile, IdleLanesOfAReductionDoNotCount) {
  const Graph graph = parse_graph(
      "def main(float(5, 13) x) -> (p, m, n, a) {\n p(i) *=! x(i, r) + 3.0\n m(i) max=! -1.0 - "
      "abs(x(i, "
      "r))\n n(i) min=! 1.0 + abs(x(i, r))\n a(i) all=! x(i, r) < 100.0\n}");
  for (size_t axis : {0, 1}) {
    Program p = initial_program(graph, 1, 512);
    for (size_t s = 0; s < 4; ++s) p = vectorize(std::move(p), s, axis, 8);
    checked_ir(p);
  }
}

TEST(Tile, ResumedReductionsReadWhatTheyStored) {
  const auto order = std::vector<size_t>{2, 0, 1, 3};
  for (int64_t m : {8, 11})
    for (int64_t n : {16, 21}) {
      Program p = tile(initial_program(matmul_graph(m, n, 23), 1, 512), 0, 2, Steps{10});
      p = reorder(std::move(p), 0, order);
      checked_ir(p);
      p = vectorize(std::move(p), 0, 1, 8);
      p = unroll(std::move(p), 0, 0, 3);
      checked_ir(p);
      // In lanes along columns of the result: stored by scatters, resumed by gathers.
      p = tile(initial_program(matmul_graph(m, n, 23), 1, 512), 0, 2, Steps{10});
      checked_ir(vectorize(reorder(std::move(p), 0, order), 0, 0, 4));
    }
}

TEST(Tile, EveryReductionLoopOutsideEveryOutputLoop) {
  Program p =
      reorder(initial_program(matmul_graph(5, 9, 7), 1, 512), 0, std::vector<size_t>{2, 1, 0});
  checked_ir(p);
  checked_ir(vectorize(p, 0, 1, 8));
  checked_ir(unroll(p, 0, 0, 3));
}

TEST(Tile, ResultsWhoseLanesAreApartAreStoredOneByOne) {
  const Graph graph = parse_graph("def main(float(9, 5) x) -> (y) { y(i, j) = x(i, j) * 2.0 }");
  const std::string ir = checked_ir(
      vectorize(reorder(initial_program(graph, 1, 512), 0, std::vector<size_t>{1, 0}), 0, 0, 4));
  EXPECT_EQ(occurrences(ir, "masked.scatter"), 0u);
  EXPECT_EQ(occurrences(ir, "store float"), 5u) << "whole vectors, and the tail";
}

// A triangle of results: what lies outside is added up and dropped, without a mask a point.
TEST(Tile, RowsOfOutputsAloneAreAskedOnce) {
  const Graph graph = parse_graph(
      "def main(float(40, 12) x, float(40, 12) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k, i) * y(r_k, j) where i in 0:12, j in 0:12, r_k in 0:40, i >= j\n}");
  Program p = unroll(vectorize(initial_program(graph, 1, 512), 0, 1, 8), 0, 0, 4);
  checked_ir(p);
  const std::string ir = emitted(p, true);
  EXPECT_EQ(occurrences(ir, "select <8 x i1>"),
            occurrences(ir, "store <8 x float>") + occurrences(ir, "call void @llvm.masked.store"))
      << ir;
  checked_ir(vectorize(initial_program(graph, 1, 512), 0, 2, 8));
  // A copy in panels is in range at every point, too.
  const Graph panels = parse_graph(
      "def main(float(40, 12) x, float(3, 40, 8) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k, i) * y(j // 8, r_k, j % 8) where i in 0:12, j in 0:24, r_k in 0:40, i "
      ">= "
      "j\n}");
  p = unroll(vectorize(initial_program(panels, 1, 512), 0, 1, 8), 0, 0, 4);
  checked_ir(p);
  const std::string packed = emitted(p, true);
  EXPECT_EQ(occurrences(packed, "select <8 x i1>"), occurrences(packed, "store <8 x float>"));
  // Where a row keeps a read in range, points outside it are not evaluated.
  const Graph guarded = parse_graph(
      "def main(float(30) x, float(40, 21) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k + i - j) * y(r_k, j) where i in 0:12, j in 0:21, r_k in 0:19, i >= "
      "j\n}");
  checked_ir(unroll(vectorize(initial_program(guarded, 1, 512), 0, 1, 8), 0, 0, 4));
}

// Sums that share a pass, in every way that a tile can be made.
TEST(Tile, SiblingReductionsHaveAccumulatorsEach) {
  const Graph graph = parse_graph(
      "def main(float(6, 40) x, float(6, 40) y) -> (a, b) {\n"
      "  a(i) +=! x(i, r_k) * y(i, r_k)\n"
      "  b(i) +=! x(i, r_k)\n}");
  const Program p = fuse_siblings(initial_program(graph, 1, 512), std::vector<size_t>{0, 1});
  checked_ir(p);
  const std::string ir = checked_ir(unroll(vectorize(p, 0, 1, 8), 0, 0, 2));
  EXPECT_EQ(fused(ir), 2u) << "a product for each row";
  checked_ir(vectorize(unroll(p, 0, 1, 4), 0, 0, 4));
  checked_ir(unroll(vectorize(p, 0, 1, 8), 0, 1, 2));
  checked_ir(rfactor(p, 0, 1, 4));
}

TEST(Tile, ConvolutionsWithPaddingByRowsAndByPredicates) {
  for (const bool rows : {false, true})
    for (int64_t stride : {1, 2}) {
      Program p = initial_program(conv_graph(2, 3, 7, 11, 4, stride, rows), 2, 512);
      checked_ir(p);
      p = vectorize(std::move(p), 0, 3, 4);
      checked_ir(p);
      checked_ir(unroll(std::move(p), 0, 1, 2));
      p = initial_program(conv_graph(2, 3, 7, 11, 8, stride, rows), 2, 512);
      p = vectorize(std::move(p), 0, 1, 4);
      checked_ir(unroll(std::move(p), 0, 3, 3));
    }
}

}  // namespace
}  // namespace adjit::testing
