// tests/runtime/graph/interpret/accumulator_test.cpp -- what every combiner makes of its bodies.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/graph/interpret/accumulator.hpp"
#include "runtime/graph/interpret/evaluator.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

TEST(Accumulator, EveryCombinerFoldsItsBodies) {
  const std::vector<Array> x{floats({4}, {3, -1, 4, 2})};
  EXPECT_EQ(run_one("float(4) x", "y() +=! x(r)", x), List{8});
  EXPECT_EQ(run_one("float(4) x", "y() *=! x(r)", x), List{-24});
  EXPECT_EQ(run_one("float(4) x", "y() max=! x(r)", x), List{4});
  EXPECT_EQ(run_one("float(4) x", "y() min=! x(r)", x), List{-1});
  EXPECT_EQ(run_one("float(4) x", "y() any=! x(r) > 3.5", x), List{1});
  EXPECT_EQ(run_one("float(4) x", "y() all=! x(r) > 3.5", x), List{0});
}

TEST(Accumulator, ArgumentsOfTheFirstExtreme) {
  const auto both = [](const std::string& op, List x) {
    const std::vector<Array> out =
        run("float(4) x", "v, at", "(v, at)() " + op + "=! (x(r), r)", {floats({4}, std::move(x))});
    return List{out[0].at(0), out[1].at(0)};
  };
  EXPECT_EQ(both("argmax", {1, 5, 5, 0}), (List{5, 1}));
  EXPECT_EQ(both("argmin", {1, 0, 5, 0}), (List{0, 1}));
  EXPECT_EQ(both("argmax", {-kInfinity, -kInfinity, -kInfinity, -kInfinity}),
            (List{-kInfinity, 0}));
  const List nan = both("argmax", {1, kNoValue, 7, kNoValue});
  EXPECT_TRUE(std::isnan(nan[0]));
  EXPECT_EQ(nan[1], 1);
}

TEST(Accumulator, ArgMaxOverAWindowThatSkipsItsFirstPoints) {
  // The first visited point counts even when it only equals the identity.
  const std::vector<Array> out =
      run("float(4) x", "v, at", "(v, at)() argmax=! (x(r), r) where r in 0:4, r >= 2",
          {floats({4}, {9, 9, -kInfinity, -kInfinity})});
  EXPECT_EQ(out[1].at(0), 2);
}

TEST(Accumulator, MaxPropagatesNan) {
  EXPECT_TRUE(
      std::isnan(run_one("float(3) x", "y() max=! x(r)", {floats({3}, {1, kNoValue, 2})})[0]));
}

TEST(Accumulator, ACustomCombinerFoldsTuples) {
  // Online softmax: the maximum and the sum of exponentials relative to it.
  const std::vector<Array> out =
      run("float(3) x", "m, s",
          "(m, s)() custom=! (x(r), 1.0) combine (m0, s0), (m1, s1) -> let m2 = max(m0, m1); "
          "(m2, s0 * exp(m0 - m2) + s1 * exp(m1 - m2)) identity (-1e30, 0.0)",
          {floats({3}, {1, 3, 2})});
  EXPECT_EQ(out[0].at(0), 3);
  EXPECT_NEAR(out[1].at(0), 1 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
}

TEST(Accumulator, EmptyReductionsHoldTheIdentity) {
  const std::vector<Array> none{floats({0}, {})};
  EXPECT_EQ(run_one("float(0) x", "y() +=! x(r)", none), List{0});
  EXPECT_EQ(run_one("float(0) x", "y() *=! x(r)", none), List{1});
  EXPECT_EQ(run_one("float(0) x", "y() max=! x(r)", none), List{-kInfinity});
  EXPECT_EQ(run_one("int32(0) x", "y() min=! x(r)", {Array::zeros(DType::Int32, {0})}),
            List{INT32_MAX});
  EXPECT_EQ(run_one("float(0) x", "y(i) = x(i)", none), List{});
}

TEST(Accumulator, HalfResultsAccumulateInFloat32) {
  // 2048 + 1 is not a float16; the sum in float32 is, after rounding once, 2052.
  Array x = Array::zeros(DType::Float16, {5});
  x.set(0, 2048);
  for (int k = 1; k < 5; ++k) x.set(k, 1);
  EXPECT_EQ(run_one("half(5) x", "y() +=! x(r)", {x}), List{2052});
}

TEST(Accumulator, ProductsAreAddedWithOneRounding) {
  const double a = 1 + 0x1p-12;
  const double sum = run_one("float(2) A, float(2) B", "y() +=! A(k) * B(k)",
                             {floats({2}, {-1, a}), floats({2}, {1, a})})[0];
  EXPECT_EQ(sum,
            static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(a), -1.0f)));
}

// A scatter continues what an element holds: set, then add.
TEST(Accumulator, ContinuesFromAValueThatIsSet) {
  const Graph graph = parse_graph("def f(float(3) x) -> (y) { y() max=! x(r) }");
  const Array x = floats({3}, {1, 9, 2});
  std::vector<const Array*> arrays(graph.tensors.size(), nullptr);
  arrays[graph.inputs[0].value] = &x;
  PointEvaluator bodies(graph, graph.stages[0].bodies, arrays);
  Accumulator accumulator(graph, graph.stages[0]);
  accumulator.reset();
  EXPECT_EQ(accumulator.value(0).f, -kInfinity);
  accumulator.set(0, Scalar::of_float(5));
  for (const int64_t r : {0, 2}) {
    bodies.move_to(std::vector<int64_t>{r});
    accumulator.add(bodies);
    EXPECT_EQ(accumulator.value(0).f, 5);
  }
  bodies.move_to(std::vector<int64_t>{1});
  accumulator.add(bodies);
  EXPECT_EQ(accumulator.value(0).f, 9);
}

}  // namespace
}  // namespace adjit::graph
