#include "runtime/graph/interpreter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "runtime/graph/text.hpp"

namespace adjit::graph {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Array floats(std::vector<int64_t> shape, std::vector<double> values) {
  return Array::of(DType::Float32, std::move(shape), values);
}
Array longs(std::vector<double> values) {
  return Array::of(DType::Int64, {static_cast<int64_t>(values.size())}, values);
}
std::vector<double> values(const Array& array) {
  std::vector<double> list;
  for (int64_t k = 0; k < array.element_count(); ++k) list.push_back(array.at(k));
  return list;
}
using List = std::vector<double>;

// The outputs of a definition's statements: run("float(3) x", "y", "y(i) = x(i)", {x}).
std::vector<Array> run(const std::string& inputs, const std::string& outputs,
                       const std::string& statements, std::vector<Array> arrays) {
  return interpret(
      parse_graph("def main(" + inputs + ") -> (" + outputs + ") {" + statements + "}"), arrays);
}
List run_one(const std::string& inputs, const std::string& statement, std::vector<Array> arrays) {
  return values(run(inputs, "y", statement, std::move(arrays))[0]);
}

TEST(Interpreter, MatrixProduct) {
  EXPECT_EQ(run_one("float(2, 3) A, float(3, 2) B", "y(i, j) +=! A(i, k) * B(k, j)",
                    {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 2}, {1, 0, 0, 1, 2, 2})}),
            (List{7, 8, 16, 17}));
}

TEST(Interpreter, ProductsAreAddedWithOneRounding) {
  const double a = 1 + 0x1p-12;
  const double sum = run_one("float(2) A, float(2) B", "y() +=! A(k) * B(k)",
                             {floats({2}, {-1, a}), floats({2}, {1, a})})[0];
  EXPECT_EQ(sum,
            static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(a), -1.0f)));
}

TEST(Interpreter, EveryCombiner) {
  const std::vector<Array> x{floats({4}, {3, -1, 4, 2})};
  EXPECT_EQ(run_one("float(4) x", "y() +=! x(r)", x), List{8});
  EXPECT_EQ(run_one("float(4) x", "y() *=! x(r)", x), List{-24});
  EXPECT_EQ(run_one("float(4) x", "y() max=! x(r)", x), List{4});
  EXPECT_EQ(run_one("float(4) x", "y() min=! x(r)", x), List{-1});
  EXPECT_EQ(run_one("float(4) x", "y() any=! x(r) > 3.5", x), List{1});
  EXPECT_EQ(run_one("float(4) x", "y() all=! x(r) > 3.5", x), List{0});
}

TEST(Interpreter, ArgumentsOfTheFirstExtreme) {
  const auto both = [](const std::string& op, List x) {
    const std::vector<Array> out =
        run("float(4) x", "v, at", "(v, at)() " + op + "=! (x(r), r)", {floats({4}, std::move(x))});
    return List{out[0].at(0), out[1].at(0)};
  };
  EXPECT_EQ(both("argmax", {1, 5, 5, 0}), (List{5, 1}));
  EXPECT_EQ(both("argmin", {1, 0, 5, 0}), (List{0, 1}));
  EXPECT_EQ(both("argmax", {-kInf, -kInf, -kInf, -kInf}), (List{-kInf, 0}));
  const List nan = both("argmax", {1, kNan, 7, kNan});
  EXPECT_TRUE(std::isnan(nan[0]));
  EXPECT_EQ(nan[1], 1);
}

TEST(Interpreter, ArgMaxOverAWindowThatSkipsItsFirstPoints) {
  // The first visited point counts even when it only equals the identity.
  const std::vector<Array> out =
      run("float(4) x", "v, at", "(v, at)() argmax=! (x(r), r) where r in 0:4, r >= 2",
          {floats({4}, {9, 9, -kInf, -kInf})});
  EXPECT_EQ(out[1].at(0), 2);
}

TEST(Interpreter, MaxPropagatesNan) {
  EXPECT_TRUE(std::isnan(run_one("float(3) x", "y() max=! x(r)", {floats({3}, {1, kNan, 2})})[0]));
}

TEST(Interpreter, CustomCombiner) {
  // Online softmax: the maximum and the sum of exponentials relative to it.
  const std::vector<Array> out =
      run("float(3) x", "m, s",
          "(m, s)() custom=! (x(r), 1.0) combine (m0, s0), (m1, s1) -> let m2 = max(m0, m1); "
          "(m2, s0 * exp(m0 - m2) + s1 * exp(m1 - m2)) identity (-1e30, 0.0)",
          {floats({3}, {1, 3, 2})});
  EXPECT_EQ(out[0].at(0), 3);
  EXPECT_NEAR(out[1].at(0), 1 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
}

TEST(Interpreter, EmptyReductionsHoldTheIdentity) {
  const std::vector<Array> none{floats({0}, {})};
  EXPECT_EQ(run_one("float(0) x", "y() +=! x(r)", none), List{0});
  EXPECT_EQ(run_one("float(0) x", "y() *=! x(r)", none), List{1});
  EXPECT_EQ(run_one("float(0) x", "y() max=! x(r)", none), List{-kInf});
  EXPECT_EQ(run_one("int32(0) x", "y() min=! x(r)", {Array::zeros(DType::Int32, {0})}),
            List{INT32_MAX});
  EXPECT_EQ(run_one("float(0) x", "y(i) = x(i)", none), List{});
}

TEST(Interpreter, RowsRestrictTheDomain) {
  EXPECT_EQ(run_one("float(3) x", "y(i) +=! x(r) where i in 0:3, r in 0:3, r <= i",
                    {floats({3}, {1, 2, 4})}),
            (List{1, 3, 7}));
  EXPECT_EQ(run_one("float(4) x",
                    "y(i) +=! x(r) where i in 0:2, r in 0:4, q = (i + r) // 2, "
                    "i + r == 2*q",
                    {floats({4}, {1, 2, 4, 8})}),
            (List{5, 10}));
}

TEST(Interpreter, GuardedReadsTouchNothing) {
  EXPECT_EQ(run_one("float(2) x", "y(i) = x(i - 1 where i >= 1 && i < 3) + 1 where i in 0:4",
                    {floats({2}, {5, 6})}),
            (List{1, 6, 7, 1}));
}

TEST(Interpreter, UnselectedBranchesAreNotEvaluated) {
  EXPECT_EQ(
      run_one("float(2) x", "y(i) = select(i < 2, x(i), -1) where i in 0:4", {floats({2}, {5, 6})}),
      (List{5, 6, -1, -1}));
  // Shared between a branch that is taken and one that is not.
  EXPECT_EQ(run_one("float(2) x",
                    "y(i) = let t = x(i) * 2; select(i < 2, t + t, select(i == 9, t, 0)) "
                    "where i in 0:3",
                    {floats({2}, {5, 6})}),
            (List{20, 24, 0}));
}

TEST(Interpreter, LogicStopsWhereItIsDecided) {
  const Graph graph = parse_graph(R"(
def main(bool(3) x, int64(4) n) -> (y, z) {
  y(i) = 0 <= n(i) && n(i) < 3 && x(n(i))
  z(i) = n(i) < 0 || 3 <= n(i) || x(n(i))
})");
  const std::vector<Array> inputs{Array::of(DType::Bool, {3}, std::vector<double>{0, 1, 0}),
                                  Array::of(DType::Int64, {4}, std::vector<double>{-1, 1, 2, 7})};
  const std::vector<Array> results = interpret(graph, inputs);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(results[0].at(k), k == 1) << k;
    EXPECT_EQ(results[1].at(k), k != 2) << k;
  }
}

TEST(Interpreter, DataDependentIndices) {
  const std::vector<Array> good{floats({3}, {7, 8, 9}), longs({2, 0})};
  EXPECT_EQ(run_one("float(3) x, int64(2) I", "y(i) = x(I(i))", good), (List{9, 7}));
  try {
    run_one("float(3) x, int64(2) I", "y(i) = x(I(i))", {good[0], longs({0, 3})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds);
    for (const char* part : {"index 3", "0:3", "x(I(i))", "i = 1"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Interpreter, ScatterModes) {
  const std::vector<Array> in{floats({4}, {1, 2, 4, 8}), longs({0, 3, 0, -1})};
  const auto scatter = [&](const std::string& mode) {
    return run_one("float(4) x, int64(4) I", "scatter float(3) y(I(i)) +=!" + mode + " x(i)", in);
  };
  EXPECT_EQ(scatter("[drop]"), (List{5, 0, 0}));
  EXPECT_EQ(scatter("[clip]"), (List{13, 0, 2}));
  EXPECT_EQ(scatter("[wrap]"), (List{7, 0, 8}));
  EXPECT_THROW(scatter(""), Error);
}

TEST(Interpreter, ScatterFromAnInitialValueAndLastWriter) {
  EXPECT_EQ(run_one("float(2) x, int64(2) I, float(3) z", "scatter float(3) y(I(i)) += x(i) from z",
                    {floats({2}, {1, 2}), longs({2, 2}), floats({3}, {10, 20, 30})}),
            (List{10, 20, 33}));
  EXPECT_EQ(run_one("float(2) x, int64(2) I", "scatter float(3) y(I(i)) = x(i)",
                    {floats({2}, {1, 2}), longs({2, 2})}),
            (List{0, 0, 2}));
  EXPECT_EQ(run_one("float(2) x, int64(2) I", "scatter float(3) y(I(i)) max=! x(i)",
                    {floats({2}, {1, 2}), longs({2, 2})}),
            (List{-kInf, -kInf, 2}));
}

TEST(Interpreter, HalfResultsAccumulateInFloat32) {
  // 2048 + 1 is not a float16; the sum in float32 is, after rounding once, 2052.
  Array x = Array::zeros(DType::Float16, {5});
  x.set(0, 2048);
  for (int k = 1; k < 5; ++k) x.set(k, 1);
  EXPECT_EQ(run_one("half(5) x", "y() +=! x(r)", {x}), List{2052});
}

const char* const kScan =
    "  scan (h, ys) = step[3%](carry float(2) c = h0, over float(2) x = X, fixed float w = W) -> "
    "(n, n) "
    "{ n(i) = c(i) * w + x(i) }";

std::vector<Array> run_scan(const std::string& mode) {
  std::string text = kScan;
  text.replace(text.find('%'), 1, mode);
  return run("float(2) h0, float(3, 2) X, float W", "h, ys", text,
             {floats({2}, {1, 0}), floats({3, 2}, {1, 2, 3, 4, 5, 6}), floats({}, {10})});
}

TEST(Interpreter, ScansForwardAndBackward) {
  const std::vector<Array> forward = run_scan("");
  EXPECT_EQ(values(forward[0]), (List{1135, 246}));
  EXPECT_EQ(values(forward[1]), (List{11, 2, 113, 24, 1135, 246}));
  const std::vector<Array> backward = run_scan(", reverse");
  EXPECT_EQ(values(backward[0]), (List{1531, 642}));
  EXPECT_EQ(values(backward[1]), (List{1531, 642, 153, 64, 15, 6}));
}

TEST(Interpreter, NestedScans) {
  EXPECT_EQ(values(run("float a, float(2, 3) X", "s",
                       "scan (s) = outer[2](carry float c = a, over float(3) row = X) -> (t) {"
                       "  scan (t) = inner[3](carry float d = c, over float x = row) -> (n) {"
                       "    n = d * 2 + x } }",
                       {floats({}, {1}), floats({2, 3}, {1, 0, 0, 0, 0, 1})})[0]),
            List{97});
}

TEST(Interpreter, DeepChainsNeedNoStack) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float64, {1});
  const ExprId i = graph.pool.axis(0);
  ExprId chain = read(graph, x, std::span(&i, 1));
  const ExprId condition = graph.pool.make(Op::Lt, {chain, graph.pool.constant(5, DType::Float64)});
  for (int k = 0; k < 20'000; ++k)
    chain = graph.pool.select(condition, graph.pool.make(Op::Abs, {graph.pool.neg(chain)}), chain);
  Domain domain;
  domain.extents = {1};
  domain.output_rank = 1;
  graph.outputs = add_compute(graph, "y", domain, {}, {chain});
  const std::vector<Array> in{Array::of(DType::Float64, {1}, List{3})};
  EXPECT_EQ(interpret(graph, in)[0].at(0), 3);
}

TEST(Interpreter, WrongInputsAreNamed) {
  const Graph graph = parse_graph("def main(float(3) x) -> (y) { y(i) = x(i) }");
  const auto code = [&](std::vector<Array> inputs) {
    try {
      interpret(graph, inputs);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code({}), ErrorCode::Shape);
  EXPECT_EQ(code({floats({4}, {1, 2, 3, 4})}), ErrorCode::Shape);
  EXPECT_EQ(code({Array::zeros(DType::Float64, {3})}), ErrorCode::DType);
}

TEST(Interpreter, InputsAndConstantsMayBeOutputs) {
  const std::vector<Array> out =
      run("float(1) x", "x, c, x", "const int32(2) c = [4, -5]", {floats({1}, {3})});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values(out[1]), (List{4, -5}));
  EXPECT_EQ(values(out[2]), List{3});
}

TEST(InterpretInDouble, RoundsNothingToFloat32) {
  const Graph graph = parse_graph(
      "def main(float(2) x) -> (y) { y() +=! double(x(r) * float(0.1)) / double(3.0) }");
  const std::vector<Array> out = interpret_in_double(
      graph, std::vector<Array>{Array::of(DType::Float64, {2}, List{1, 1e-12})});
  EXPECT_EQ(out[0].dtype, DType::Float64);
  EXPECT_EQ(out[0].at(0), static_cast<double>(0.1f) / 3 + static_cast<double>(0.1f) * 1e-12 / 3);
}

TEST(InterpretInDouble, ReachesIntoScans) {
  const Graph graph = parse_graph(
      "def main(float a) -> (s) { scan (s) = step[2](carry float c = a) -> (n) { n = c / 3 } }");
  const std::vector<Array> out = interpret_in_double(graph, std::vector<Array>{floats({}, {1})});
  EXPECT_EQ(out[0].at(0), 1.0 / 3 / 3);
}

}  // namespace
}  // namespace adjit::graph
