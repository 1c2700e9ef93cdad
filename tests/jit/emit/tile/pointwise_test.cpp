// tests/jit/emit/tile/pointwise_test.cpp -- tiles of stages without reduction.
#include "jit/emit/tile/pointwise.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

TEST(Pointwise, ConstraintsOfAStageWithoutReduction) {
  Builder b;
  const TensorId x = b.input("x", {9, 13});
  b.output(b.stage("y", {9, 13}, 2, CombinerKind::None, b.at(x, {b.axis(0), b.axis(1)})));
  Domain& domain = b.graph.stages[0].domain;
  domain.inequalities.push_back(Affine::variable(1) - Affine::variable(0));
  const size_t q = domain.add_division(Affine::variable(1), 3);
  domain.equalities.push_back(Affine::variable(1) - Affine::variable(q, 3, 1));
  expect_right(plain(b.graph));
  expect_right(vectorize(plain(b.graph), 0, 1, 8));
  expect_right(vectorize(unroll(plain(b.graph), 0, 0, 4), 0, 1, 4));
  expect_right(parallel(vectorize(plain(b.graph), 0, 0, 4), 0, 1));
}

// Without a reduction, too, and tiles inside all constraints ask none.
TEST(Pointwise, TilesOfPointsOutsideAreZeros) {
  for (const char* constraints : {"j <= i", "i <= j", "j <= i, i <= j + 9", "j >= 14",
                                  "q = (i + j) // 2, i + j == 2 * q, j <= i"})
    for (const int64_t columns : {32, 64, 29}) {
      const std::string n = std::to_string(columns);
      const Graph graph = parse_graph("def main(float(24, " + n +
                                      ") x) -> (y) { y(i, j) = exp(x(i, j)) where i in "
                                      "0:24, j in 0:" +
                                      n + ", " + constraints + " }");
      const Program p = vectorize(plain(graph), 0, 1, 8);
      expect_right(p);
      expect_right(unroll(p, 0, 1, 2));
      expect_right(unroll(p, 0, 0, 3));
      expect_right(vectorize(plain(graph), 0, 0, 8));
    }
  const Graph triangle = parse_graph(
      "def main(float(24, 32) x) -> (y) { y(i, j) = x(i, j) * 2 where i in 0:24, j in 0:32, "
      "j <= i }");
  const std::string ir = EmittedProgram(vectorize(plain(triangle), 0, 1, 8)).ir();
  EXPECT_EQ(occurrences(ir, "\neither"), 2u) << "whether any point is inside, whether all are";
  EXPECT_EQ(occurrences(ir, "store <8 x float> zeroinitializer"), 1u) << ir;
}

}  // namespace
}  // namespace adjit::testing
