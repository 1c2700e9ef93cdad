// tests/runtime/diff/simplify/factor_hoisting_test.cpp -- factors leave sums where that is less
// work.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

TEST(Hoist, FactorWithoutTheAxisLeavesTheSum) {
  Forward f;
  const TensorId y = f.input("y", {7}), w = f.input("w", {9});
  const TensorId z =
      f.sum("z", {7}, {9}, [&](const Axes& i) { return f.at(y, {i[0]}) * f.at(w, {i[1]}); });
  const Graph g = f.returning({z}), s = simplify(g);
  EXPECT_EQ(points(s), 7 + 9) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, ChainOfMatricesIsAssociated) {
  Forward f;
  const TensorId a = f.input("a", {6, 6}), b = f.input("b", {6, 6}), c = f.input("c", {6, 6});
  const TensorId y = f.sum("y", {6, 6}, {6, 6}, [&](const Axes& i) {
    return f.at(a, {i[0], i[2]}) * f.at(b, {i[2], i[3]}) * f.at(c, {i[3], i[1]});
  });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(points(s), 2 * 216) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, SumOverAnAbsentAxisIsAProduct) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const TensorId y = f.sum("y", {4}, {5, 3}, [&](const Axes& i) { return f.at(x, {i[0]}); });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(points(s), 4) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// 1 / b(r) begins with a factor that is none: it left the sum again and again.
TEST(Hoist, QuotientsOfOtherAxesLeaveOnce) {
  Forward f;
  const TensorId g = f.input("g", {6, 6}), a = f.input("a", {6, 6}), b = f.input("b", {6, 6});
  const TensorId y = f.sum("y", {6, 6}, {6, 6}, [&](const Axes& i) {
    return f.at(g, {i[1], i[3]}) / (f.at(a, {i[0], i[2]}) + 2.0) / (f.at(b, {i[2], i[3]}) + 2.0);
  });
  const Graph graph = f.returning({y}), s = simplify(graph);
  EXPECT_EQ(points(s), 2 * 216) << print(s);
  EXPECT_TRUE(same_values(graph, s));
}

// The square of a difference, summed with broadcast operators: d = 2 * g * (x - y) is a stage, of
// which each gradient is a sum.
TEST(Hoist, NumbersLeaveSumsOfProductsInStagesOfTheirOwn) {
  const Graph g = parse_graph(R"(def f(double(5, 6) a, double(5, 6) b) -> (y, z) {
    d(i, j) = a(i, j) * b(i, j) * 2.0
    y(i) +=! d(i, j)
    z(j) +=! -d(i, j)
  })");
  const Graph s = simplify(g);
  size_t numbers = 0;
  for (const Stage& stage : s.stages)
    if (stage.combiner.kind == CombinerKind::Sum)
      for (ExprId id : reachable(s.pool, stage.bodies))
        numbers += s.pool.is(id, Op::Constant) || s.pool.is(id, Op::Neg) ? 1 : 0;
  EXPECT_EQ(numbers, 0u) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, AMatrixProductStays) {
  const Graph g = forward_named("matmul");
  EXPECT_EQ(print(simplify(g)), print(g));
}

// sum_{j, k} over k <= j of a[i, j] * b[j, k]: the inner sum has the row, the outer one needs none.
TEST(Hoist, RowsStayWithTheAxesTheyKnow) {
  const Graph g = parse_graph(R"(def f(double(9, 5) a, double(5, 5) b) -> (y) {
    y(i) +=! a(i, j) * b(j, k) where i in 0:9, j in 0:5, k in 0:5, k <= j })");
  const Graph s = simplify(g);
  EXPECT_EQ(points(s), 15 + 9 * 5) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// Where the inner sum has no term the outer one has none, either: an infinite a[i, 4] is not read.
TEST(Hoist, PointsWithoutTermsAreNotVisited) {
  const Graph g = parse_graph(R"(def f(double(9, 5) a, double(5, 9) b) -> (y) {
    y(i) +=! a(i, j) * b(j, k) where i in 0:9, j in 0:5, k in 0:9, k >= j + 5 })");
  const Graph s = simplify(g);
  EXPECT_EQ(points(s), 10 + 9 * 4) << print(s);
  EXPECT_TRUE(same_values(g, s));
  std::vector<Array> inputs = random_inputs(g);
  for (int64_t i = 0; i < 9; ++i) inputs[0].set(i * 5 + 4, INFINITY);
  for (int64_t i = 0; i < 9; ++i) EXPECT_TRUE(std::isfinite(interpret(s, inputs)[0].at(i)));
}

// Reads that a row with other axes keeps in bounds stay so: j <= m < 3 in b[j].
TEST(Hoist, ReadsStayInBounds) {
  const Graph g = parse_graph(R"(def f(double(9, 3) a, double(3, 6) b) -> (y) {
    y(i) +=! a(i, m) * b(j, k) where i in 0:9, m in 0:3, j in 0:8, k in 0:6, j <= m })");
  const Graph s = simplify(g);
  EXPECT_LT(points(s), points(g) / 2) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, ASumOverAnAxisThatOnlyRowsKnowStays) {
  const Graph g = parse_graph(R"(def f(double(9) x) -> (y) {
    y(i) +=! x(i) where i in 0:9, r in 0:9, r <= i })");
  EXPECT_TRUE(same_values(g, simplify(g)));
  EXPECT_EQ(points(simplify(g)), 45);
}

}  // namespace
}  // namespace adjit::testing
