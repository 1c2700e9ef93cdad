// tests/jit/emit/tile/accumulators_test.cpp -- accumulators begin, are folded, and become results.
#include "jit/emit/tile/accumulators.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Steps = std::vector<int64_t>;

TEST(Accumulators, ChainsOfAReductionAreFoldedByATree) {
  for (int64_t n : {64, 67, 40, 33}) {
    SCOPED_TRACE(n);
    Program p = vectorize(initial_program(total_graph(3, n), CpuMachine{1, 512}), 0, 1, 8);
    p = unroll(std::move(p), 0, 1, 4);
    const std::string ir = checked_ir(p);
    EXPECT_EQ(occurrences(ir, "alloca"), 0u);
    EXPECT_EQ(occurrences(ir, "store float"), 1u);
  }
}

// A reduction's ragged lanes must not count, those of the result must not be stored.
TEST(Accumulators, IdleLanesOfAReductionDoNotCount) {
  const Graph graph = parse_graph(
      "def main(float(5, 13) x) -> (p, m, n, a) {\n p(i) *=! x(i, r) + 3.0\n m(i) max=! -1.0 - "
      "abs(x(i, "
      "r))\n n(i) min=! 1.0 + abs(x(i, r))\n a(i) all=! x(i, r) < 100.0\n}");
  for (size_t axis : {0, 1}) {
    Program p = initial_program(graph, CpuMachine{1, 512});
    for (size_t s = 0; s < 4; ++s) p = vectorize(std::move(p), s, axis, 8);
    checked_ir(p);
  }
}

TEST(Accumulators, ResumedReductionsReadWhatTheyStored) {
  const auto order = std::vector<size_t>{2, 0, 1, 3};
  for (int64_t m : {8, 11})
    for (int64_t n : {16, 21}) {
      Program p =
          tile(initial_program(matmul_graph(m, n, 23), CpuMachine{1, 512}), 0, 2, Steps{10});
      p = reorder(std::move(p), 0, order);
      checked_ir(p);
      p = vectorize(std::move(p), 0, 1, 8);
      p = unroll(std::move(p), 0, 0, 3);
      checked_ir(p);
      // In lanes along columns of the result: stored by scatters, resumed by gathers.
      p = tile(initial_program(matmul_graph(m, n, 23), CpuMachine{1, 512}), 0, 2, Steps{10});
      checked_ir(vectorize(reorder(std::move(p), 0, order), 0, 0, 4));
    }
}

TEST(Accumulators, EveryReductionLoopOutsideEveryOutputLoop) {
  Program p = reorder(initial_program(matmul_graph(5, 9, 7), CpuMachine{1, 512}), 0,
                      std::vector<size_t>{2, 1, 0});
  checked_ir(p);
  checked_ir(vectorize(p, 0, 1, 8));
  checked_ir(unroll(p, 0, 0, 3));
}

// A triangle of results: what lies outside is added up and dropped, without a mask a point.
TEST(Accumulators, ConstraintsOfOutputsAloneAreAskedOnce) {
  const Graph graph = parse_graph(
      "def main(float(40, 12) x, float(40, 12) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k, i) * y(r_k, j) where i in 0:12, j in 0:12, r_k in 0:40, i >= j\n}");
  Program p = unroll(vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 8), 0, 0, 4);
  checked_ir(p);
  const std::string ir = x86_ir(p, true);
  EXPECT_EQ(occurrences(ir, "select <8 x i1>"),
            occurrences(ir, "store <8 x float>") + occurrences(ir, "call void @llvm.masked.store"))
      << ir;
  checked_ir(vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 2, 8));
  // What is packed into panels is in range at every point, too.
  const Graph panels = parse_graph(
      "def main(float(40, 12) x, float(3, 40, 8) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k, i) * y(j // 8, r_k, j % 8) where i in 0:12, j in 0:24, r_k in 0:40, i "
      ">= "
      "j\n}");
  p = unroll(vectorize(initial_program(panels, CpuMachine{1, 512}), 0, 1, 8), 0, 0, 4);
  checked_ir(p);
  const std::string packed = x86_ir(p, true);
  EXPECT_EQ(occurrences(packed, "select <8 x i1>"), occurrences(packed, "store <8 x float>"));
  // Where a constraint keeps a read in range, points outside it are not evaluated.
  const Graph guarded = parse_graph(
      "def main(float(30) x, float(40, 21) y) -> (t) {\n"
      "  t(i, j) +=! x(r_k + i - j) * y(r_k, j) where i in 0:12, j in 0:21, r_k in 0:19, i >= "
      "j\n}");
  checked_ir(unroll(vectorize(initial_program(guarded, CpuMachine{1, 512}), 0, 1, 8), 0, 0, 4));
}

// Sums that share a pass, in every way that a tile can be made.
TEST(Accumulators, SiblingReductionsHaveAccumulatorsEach) {
  const Graph graph = parse_graph(
      "def main(float(6, 40) x, float(6, 40) y) -> (a, b) {\n"
      "  a(i) +=! x(i, r_k) * y(i, r_k)\n"
      "  b(i) +=! x(i, r_k)\n}");
  const Program p =
      fuse_siblings(initial_program(graph, CpuMachine{1, 512}), std::vector<size_t>{0, 1});
  checked_ir(p);
  const std::string ir = checked_ir(unroll(vectorize(p, 0, 1, 8), 0, 0, 2));
  EXPECT_EQ(multiply_adds(ir), 2u) << "a product for each row";
  checked_ir(vectorize(unroll(p, 0, 1, 4), 0, 0, 4));
  checked_ir(unroll(vectorize(p, 0, 1, 8), 0, 1, 2));
  checked_ir(rfactor(p, 0, 1, 4));
}

// Lanes along a reduction have an accumulator for each of their vectors, and none for instances
// along other axes of it.
TEST(Accumulators, ChainsAreOfTheLanesAlone) {
  const Graph weights = parse_graph(
      "def main(float(12, 34) x, float(10, 32) d) -> (y) { y(k, l) +=! x(k + r_a, l + r_b) * "
      "d(r_a, "
      "r_b) where k in 0:3, l in 0:3, r_a in 0:10, r_b in 0:32 }");
  const auto accumulators = [](const Program& p) {
    const std::string ir = EmittedProgram(p).ir();
    return occurrences(ir, "phi <8 x float>");
  };
  Program p = unroll(vectorize(plain(weights), 0, 3, 8), 0, 0, 3);
  expect_right(p);
  const size_t three = accumulators(p);  // in each of two loops
  for (const int64_t rows : {2, 4}) {
    const Program q = unroll(p, 0, 2, rows);
    expect_right(q);
    EXPECT_EQ(accumulators(q), three + (10 % rows == 0 ? 0 : 3)) << "a loop for the last rows";
  }
  p = unroll(std::move(p), 0, 3, 2);
  expect_right(p);
  EXPECT_EQ(accumulators(p), 2 * three);
  expect_right(unroll(std::move(p), 0, 2, 4));
}

}  // namespace
}  // namespace adjit::testing
