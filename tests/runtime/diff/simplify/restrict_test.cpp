// tests/runtime/diff/simplify/restrict_test.cpp -- conditions become rows of sums.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

TEST(Restrict, OneHotTimesMatrixIsAGather) {
  Forward f;
  const TensorId b = f.input("b", {6, 3});
  const TensorId y = f.sum("y", {4, 3}, {6}, [&](const Axes& i) {
    return select(call(Op::Eq, i[2], i[0] + 1.0), number(f.at(b, {i[2], i[1]}), 1),
                  number(f.at(b, {i[2], i[1]}), 0)) *
           f.at(b, {i[2], i[1]});
  });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(points(s), 12) << print(s);
  EXPECT_EQ(s.stages[0].combiner.kind, CombinerKind::None);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Restrict, AnIndicatorOfATriangleHalvesTheSum) {
  Forward f;
  const TensorId x = f.input("x", {5, 5});
  const TensorId y = f.sum("y", {5}, {5}, [&](const Axes& i) {
    ExprPool& pool = f.graph.pool;
    const Ex inside{&pool, pool.cast(less(i[1], i[0] + 1.0).id, DType::Float64)};
    return inside * f.at(x, {i[0], i[1]});
  });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(points(s), 15) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Restrict, PartsThatDataDecidesStay) {
  Forward f;
  const TensorId x = f.input("x", {5}), m = f.input("m", {5});
  const TensorId y = f.sum("y", {}, {5}, [&](const Axes& i) {
    const Ex v = f.at(x, {i[0]});
    return select(both(less(i[0], number(i[0], 3)), less(number(v, 0.6), f.at(m, {i[0]}))), v,
                  number(v, 0));
  });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(points(s), 3) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Restrict, ADisjunctionIsASumOverEachOfItsParts) {
  const Graph g = parse_graph(
      "def f(double(40) x) -> (y) { y(i) +=! select(k == i || k == i + 1, x(k), 0.0)"
      " where i in 0:39, k in 0:40 }");
  const Graph s = restrict_domains(g);
  EXPECT_EQ(s.stages.size(), 3u) << print(s);
  EXPECT_EQ(points(s), 3 * 39) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Restrict, ADisjunctionOfNearlyAllPointsStays) {
  const Graph g = parse_graph(
      "def f(double(40) x) -> (y) { y(i) +=! select(k < i || i < k, x(k), 0.0)"
      " where i in 0:40, k in 0:40 }");
  EXPECT_EQ(print(restrict_domains(g)), print(g));
}

// What a guarded read has no value for is 0; what multiplies it may be infinite there.
TEST(Restrict, AGuardOfAReadIsARowWhereNothingMultipliesIt) {
  for (const bool product : {false, true}) {
    Forward f;
    const TensorId x = f.input("x", {9}), w = f.input("w", {9});
    const TensorId y = f.sum("y", {}, {9}, [&](const Axes& i) {
      const Ex value = f.at(x, i, less(i[0], number(i[0], 4)));
      return product ? value * f.at(w, i) : value;
    });
    const Graph g = f.returning({y}), s = restrict_domains(g);
    EXPECT_EQ(points(s), product ? 9 : 4) << print(s);
    EXPECT_TRUE(same_values(g, s));
  }
}

TEST(Restrict, ASelectAgainstZeroIsARowAlsoUnderAProduct) {
  const Graph g =
      parse_graph("def f(double(9) x, double(9) w) -> (y) { y() +=! w(r) * (r < 4 ? x(r) : 0.0) }");
  const Graph s = restrict_domains(g);
  EXPECT_EQ(points(s), 4) << print(s);
  EXPECT_TRUE(same_values(g, s));
  const Graph other =
      parse_graph("def f(double(9) x, double(9) w) -> (y) { y() +=! w(r) * (r < 4 ? x(r) : 1.0) }");
  EXPECT_EQ(print(restrict_domains(other)), print(other)) << "1 is no zero";
}

TEST(Restrict, MaximaKeepTheirPoints) {
  const Graph g = parse_graph("def f(double(9) x) -> (y) { y() max=! (r < 4 ? x(r) : 0.0) }");
  EXPECT_EQ(print(restrict_domains(g)), print(g)) << "0 is not what a maximum starts from";
}

TEST(Restrict, AConditionThatNeverHoldsLeavesASumOfZeros) {
  const Graph g =
      parse_graph("def f(double(9) x) -> (y) { y() +=! (r < 0 ? x(r) : 0.0) where r in 0:9 }");
  EXPECT_TRUE(same_values(g, restrict_domains(g)));
}

TEST(Restrict, ASelectOfZeroWhereItHoldsKeepsTheOtherPoints) {
  const Graph g =
      parse_graph("def f(double(9) x) -> (y) { y() +=! (r < 4 ? 0.0 : x(r)) where r in 0:9 }");
  const Graph s = restrict_domains(g);
  EXPECT_EQ(points(s), 5) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

}  // namespace
}  // namespace adjit::testing
