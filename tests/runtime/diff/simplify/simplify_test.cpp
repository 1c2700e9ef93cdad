// tests/runtime/diff/simplify/simplify_test.cpp -- each clean-up pass does what it says and changes
// no value.
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/diff/indices/indices.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <cmath>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

::testing::AssertionResult same_values(const Graph& a, const Graph& b) {
  std::vector<Array> inputs = random_inputs(a);
  for (Array& input : inputs)
    if (!is_float(input.dtype))
      for (int64_t k = 0; k < input.element_count(); ++k) input.set(k, static_cast<double>(k % 2));
  return testing::same_values(a, b, inputs);
}

class EveryForward : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(EveryForward, KeepsItsValuesAndItsGradients) {
  Forward f;
  const Graph forward = GetParam().build(f);
  EXPECT_TRUE(same_values(forward, simplify(forward)));
  EXPECT_TRUE(same_values(forward, contract(simplify(forward))));
  ReverseOptions options{float_inputs(forward), {0}};
  options.clean = false;
  const Graph derived = vjp(forward, options);
  const Graph once = simplify(derived);
  EXPECT_TRUE(same_values(derived, once));
  EXPECT_EQ(print(simplify(once)), print(once)) << "a fixed point";
}

INSTANTIATE_TEST_SUITE_P(Table, EveryForward, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

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

TEST(Restrict, IndicatorAndTriangle) {
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

TEST(Restrict, DataDependentPartsStay) {
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
TEST(Hoist, QuotientsOfOtherAxes) {
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

TEST(Hoist, MatrixProductIsLeftAlone) {
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

TEST(Views, ComposeAndVanish) {
  Forward f;
  const TensorId x = f.input("x", {3, 4});
  const TensorId t = f.map("t", {4, 3}, [&](const Axes& i) { return f.at(x, {i[1], i[0]}); });
  const TensorId flat = f.map(
      "flat", {12}, [&](const Axes& i) { return f.at(t, {floor_div(i[0], 3), mod(i[0], 3)}); });
  const TensorId back =
      f.map("back", {4, 3}, [&](const Axes& i) { return f.at(flat, {i[0] * 3.0 + i[1]}); });
  const TensorId y =
      f.map("y", {3, 4}, [&](const Axes& i) { return f.at(back, {i[1], i[0]}) * 2.0; });
  const Graph g = f.returning({y}), s = simplify(g);
  EXPECT_EQ(s.stages.size(), 1u) << print(s);
  EXPECT_EQ(print_stage(s, s.stages[0]).find("//"), std::string::npos) << print(s);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, PadsBecomePredicatesAndBoundsChecksStay) {
  Forward f;
  const TensorId x = f.input("x", {4}), index = f.input("index", {3}, DType::Int64);
  const TensorId pad = f.map("pad", {6}, [&](const Axes& i) {
    return f.at(x, {i[0] - 1.0}, both(less(number(i[0], 0), i[0]), less(i[0], number(i[0], 5))));
  });
  const TensorId y =
      f.sum("y", {4}, {3}, [&](const Axes& i) { return f.at(pad, {i[0] + i[1]}) * 0.5; });
  const TensorId slice = f.map("slice", {2}, [&](const Axes& i) { return f.at(x, {i[0] + 1.0}); });
  const TensorId z = f.map("z", {3}, [&](const Axes& i) { return f.at(slice, {f.at(index, i)}); });
  const Graph g = f.returning({y, z}), s = simplify(g);
  EXPECT_EQ(s.stages.size(), 3u) << print(
      s);  // y, slice, z: an index past the slice must still be seen
  EXPECT_TRUE(same_values(g, s));
}

TEST(Views, OutputsThatAreCopiesForward) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const TensorId y = f.map("y", {4}, [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); });
  const TensorId z = f.map("z", {4}, [&](const Axes& i) { return f.at(y, i); });
  const Graph s = simplify(f.returning({z, y}));
  EXPECT_EQ(s.stages.size(), 1u);
  EXPECT_EQ(s.outputs[0], s.outputs[1]);
}

TEST(Views, StoppedOnesStayBeforeDifferentiation) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const TensorId y = f.map("y", {4}, [&](const Axes& i) { return f.at(x, i); });
  f.graph.stages.back().stop_gradient = true;
  const TensorId z = f.map("z", {4}, [&](const Axes& i) { return f.at(y, i) * f.at(x, i); });
  EXPECT_EQ(simplify(f.returning({z})).stages.size(), 2u);
}

// A transposed convolution of width 2 and stride 2 reads each of its taps where it is.
TEST(Indices, DivideNoMoreThanTheyMust) {
  const Graph g = parse_graph(
      "def f(float(4, 28) x, float(4, 2) w, float(40) v) -> (y, z) {\n"
      " y(k) +=! x(c, r + k * 2) * w(c, r * -1 - k * 2 + (r + k * 2 + 1) // 2 * 2) where k in "
      "0:14, "
      "c in 0:4, r in 0:2\n"
      " z(k) = v((k + 1) // 2 + (k + 1) // 2 - (k + 1) // 2 * 2 + k // 3) where k in 0:28\n}");
  const Graph simple = simplify_indices(g);
  EXPECT_NE(print(simple).find("w(r_j, r_k)"), std::string::npos) << print(simple);
  EXPECT_NE(print(simple).find("v(i // 3)"), std::string::npos) << print(simple);
  EXPECT_TRUE(same_values(g, simple));
  const Graph already =
      parse_graph("def f(float(9) v) -> (z) { z(k) = v(k // 3) where k in 0:27 }");
  EXPECT_EQ(print(simplify_indices(already)), print(already));
}

TEST(Merge, EqualStagesKeepAllLines) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const Body body = [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); };
  const TensorId a = f.map("a", {4}, body), b = f.map("b", {4}, body);
  const TensorId p = f.map("p", {4}, [&](const Axes& i) { return f.at(a, i) * 2.0; });
  const TensorId q = f.map("q", {4}, [&](const Axes& i) { return f.at(b, i) * 2.0; });
  const Graph s = simplify(f.returning({p, q}));
  EXPECT_EQ(s.stages.size(), 2u) << print(s);
  EXPECT_EQ(s.stages[0].lines.size(), 2u);
}

TEST(Contract, DependsOnTheNodeAlone) {
  Forward f;
  const TensorId a = f.input("a", {4}), b = f.input("b", {4});
  const TensorId y =
      f.map("y", {4}, [&](const Axes& i) { return f.at(a, i) * f.at(b, i) + f.at(a, i); });
  const TensorId z = f.map("z", {4}, [&](const Axes& i) {
    const Ex p = f.at(a, i) * f.at(b, i);
    return (p + f.at(a, i)) * p + p;
  });
  const Graph s = contract(f.returning({y, z}));
  EXPECT_TRUE(s.pool.is(s.stages[0].bodies[0], Op::Fma));
  EXPECT_TRUE(s.pool.is(s.stages[1].bodies[0], Op::Fma));
  EXPECT_EQ(s.pool.operand(s.stages[1].bodies[0], 0), s.stages[0].bodies[0])
      << "shared with the other stage";
  EXPECT_EQ(print(contract(s)), print(s));
}

// What is subtracted may come from the same product, rounded.
TEST(Contract, LeavesDifferencesOfRoundedValuesAlone) {
  const auto is_fused = [](const std::function<Ex(Ex, Ex, Ex)>& make) {
    Forward f;
    const TensorId a = f.input("a", {4}), b = f.input("b", {4}), m = f.input("m", {});
    const TensorId y =
        f.map("y", {4}, [&](const Axes& i) { return make(f.at(a, i), f.at(b, i), f.at(m, {})); });
    const Graph s = contract(f.returning({y}));
    return s.pool.is(s.stages[0].bodies[0], Op::Fma);
  };
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return x * 0.7 - m; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return m - x * 0.7; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return x * 0.7 + -m; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex y, Ex) { return x * x - y * y; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex y, Ex) { return x * -y + y * x; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex) { return x * y - 0.5; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex m) { return x * y + m; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex) { return x * x + y * y; }));
}

TEST(Contract, LeavesIntegersAndProductsOfSumsAlone) {
  const Graph g = forward_named("matmul");
  EXPECT_EQ(print(contract(g)), print(g));
  const Graph c = forward_named("conv1d_stride3_dilation2");
  EXPECT_EQ(print(contract(c)), print(c));
}

}  // namespace
}  // namespace adjit::testing
