// tests/runtime/diff/simplify/factor_hoisting_test.cpp -- factors leave sums where that is less
// work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

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

// A batch norm's gradient: v would be added up before s could be, from the same x.
Graph awaited_sum() {
  Forward f;
  const TensorId g = f.input("g", {8, 5}), x = f.input("x", {8, 5});
  const TensorId v = f.sum(
      "v", {5}, {8}, [&](const Axes& i) { return f.at(g, {i[1], i[0]}) * f.at(x, {i[1], i[0]}); });
  const TensorId s =
      f.sum("s", {5}, {8}, [&](const Axes& i) { return f.at(v, {i[0]}) * f.at(x, {i[1], i[0]}); });
  return f.returning({v, s});
}
// p is there for its own sake: the sum of it is one of g.
Graph scaled_sum() {
  Forward f;
  const TensorId g = f.input("g", {8, 5}), w = f.input("w", {5});
  const TensorId p =
      f.map("p", {8, 5}, [&](const Axes& i) { return f.at(g, {i[0], i[1]}) * f.at(w, {i[1]}); });
  const TensorId y = f.sum("y", {5}, {8}, [&](const Axes& i) { return -f.at(p, {i[1], i[0]}); });
  const TensorId z = f.sum("z", {5}, {8}, [&](const Axes& i) { return f.at(g, {i[1], i[0]}); });
  return f.returning({p, y, z});
}
int sums_of(const Graph& graph) {
  return static_cast<int>(std::ranges::count_if(
      graph.stages, [](const Stage& stage) { return stage.combiner.kind == CombinerKind::Sum; }));
}
// Sums that read the result of another one.
int waiting_sums(const Graph& graph) {
  std::set<TensorId> summed;
  int waiting = 0;
  for (const Stage& stage : graph.stages) {
    if (stage.combiner.kind != CombinerKind::Sum) continue;
    for (TensorId id : tensors_read(graph, stage)) waiting += summed.contains(id) ? 1 : 0;
    summed.insert(stage.results[0]);
  }
  return waiting;
}

TEST(Hoist, WhatASumOfTheSameOperandGivesIsNotWaitedFor) {
  const Graph g = awaited_sum(), s = simplify(g);
  EXPECT_EQ(waiting_sums(g), 1);
  EXPECT_EQ(waiting_sums(s), 0) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, AFactorThatNoSumGivesStays) {
  const Graph g = parse_graph(R"(def f(double(5) v, double(8, 5) x) -> (s) {
    s(j) +=! v(j) * x(r, j)
  })");
  EXPECT_EQ(print(simplify(g)), print(g));
  const Graph other = parse_graph(R"(def f(double(8, 5) g, double(8, 5) x) -> (v, s) {
    v(j) +=! g(r, j)
    s(j) +=! v(j) * x(r, j)
  })");
  EXPECT_EQ(waiting_sums(simplify(other)), 1) << "of another operand: no pass is saved";
}

// What is summed waits for the other sum as well.
TEST(Hoist, AFactorOfWhatWaitsItselfStays) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x) -> (s) {
    m(j) +=! x(r, j)
    s(j) +=! m(j) * sin(x(r, j) - m(j))
  })");
  EXPECT_EQ(print(simplify(g)), print(g));
}

TEST(Hoist, ASumOfAScaledTensorIsOneOfTheTensor) {
  const Graph g = scaled_sum(), s = simplify(g);
  EXPECT_EQ(sums_of(s), 1) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// A softmax's sum is that of its exponentials, which is there.
TEST(Hoist, ASumOfATensorScaledTwiceIsOneOfTheTensor) {
  const Graph g = parse_graph(R"(def f(double(8, 5) x, double(8) w) -> (q, y) {
    e(i, j) = exp(x(i, j))
    s(i) +=! e(i, r)
    p(i, j) = e(i, j) / s(i)
    q(i, j) = p(i, j) * w(i)
    y(i) +=! q(i, r)
  })");
  const Graph s = simplify(g);
  EXPECT_EQ(sums_of(s), 1) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// The other sum comes later, has one more dimension, and another sign.
TEST(Hoist, ASumMayBeTakenFromALaterOne) {
  const Graph g = parse_graph(R"(def f(double(3, 8, 5) x, double(5) w) -> (p, y, z) {
    p(a, i, j) = x(a, i, j) / w(j)
    y(j) +=! p(r, q, j)
    z(a, j, b) +=! -x(r, q, j) where a in 0:2, j in 0:5, b in 0:1, r in 0:3, q in 0:8
  })");
  const Graph s = simplify(g);
  EXPECT_EQ(sums_of(s), 1) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

// It would go over other numbers, which may be too large for their sum.
TEST(Hoist, ASumOfAScaledTensorStaysWhereThereIsNoOther) {
  for (const char* other : {"z(i) +=! x(i, r)", "z(j) +=! x(r + 1, j) where j in 0:5, r in 0:7",
                            "z(j) +=! x(r, j) * x(r, j)", "z(j) max=! x(r, j)"}) {
    SCOPED_TRACE(other);
    const Graph g = parse_graph(R"(def f(double(8, 5) x, double(5) w) -> (p, y, z) {
      p(i, j) = x(i, j) * w(j)
      y(j) +=! p(r, j)
      )" + std::string(other) + "}");
    EXPECT_EQ(print(simplify(g)), print(g));
  }
}

// Each is one of x: none is computed twice.
TEST(Hoist, SumsOfATensorScaledAgainAndAgainAreOneSum) {
  constexpr int kScalings = 60;
  Forward f;
  const TensorId x = f.input("x", {8, 5}), w = f.input("w", {5});
  std::vector<TensorId> scaled{x}, results;
  const auto sum_of = [&](TensorId id) {
    return f.sum("s" + std::to_string(scaled.size()), {5}, {8},
                 [&](const Axes& i) { return f.at(id, {i[1], i[0]}); });
  };
  for (int k = 0; k < kScalings; ++k) {
    const TensorId before = scaled.back();
    scaled.push_back(f.map("p" + std::to_string(k), {8, 5}, [&](const Axes& i) {
      return f.at(before, {i[0], i[1]}) * f.at(w, {i[1]});
    }));
  }
  for (size_t k = scaled.size(); k-- > 0;) results.push_back(sum_of(scaled[k]));
  const Graph g = f.returning(results), s = simplify(g);
  EXPECT_LT(s.stages.size(), g.stages.size() + kScalings / 2) << print(s);
  EXPECT_LE(sums_of(s), 2 + kScalings / 30) << "a few where too many wait for each other";
  EXPECT_TRUE(same_values(g, s));
}

TEST(Hoist, ASumOfATensorScaledAlongItStays) {
  const Graph g = parse_graph(R"(def f(double(8, 5) g, double(8) w) -> (p, y) {
    p(i, j) = g(i, j) * w(i)
    y(j) +=! p(r, j)
  })");
  EXPECT_EQ(print(simplify(g)), print(g));
}

TEST(Hoist, ASumOverAnAxisThatOnlyRowsKnowStays) {
  const Graph g = parse_graph(R"(def f(double(9) x) -> (y) {
    y(i) +=! x(i) where i in 0:9, r in 0:9, r <= i })");
  EXPECT_TRUE(same_values(g, simplify(g)));
  EXPECT_EQ(points(simplify(g)), 45);
}

}  // namespace
}  // namespace adjit::testing
