// tests/runtime/graph/parse/expression_builder_test.cpp -- names, dtypes of literals, promotions.
#include <gtest/gtest.h>

#include "runtime/graph/parse/expression_builder.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(ExpressionBuilder, OperandTypesAreNamedWithTheirPlace) {
  try {
    parse_graph("def main(float(3) x, double(3) z) -> (y) {\n  y(i) = x(i) + z(i)\n}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DType);
    EXPECT_NE(std::string(error.what()).find("<text>:2:15: '+'"), std::string::npos)
        << error.what();
  }
}

TEST(ExpressionBuilder, TernariesFunctionsAndExtentsAreBuilt) {
  const Graph graph = instance_of(
      "def f(float(N) x) -> (y) { y(i) = x(i) > 1.5 && i < N - 1 ? pow(x(i), 2) / N : tanh(0) - "
      "x.0 }",
      {{3}});
  const List y = outputs_of(graph, {counting({3})});
  EXPECT_EQ(y[0], -3);
  EXPECT_FLOAT_EQ(static_cast<float>(y[1]), 4.0f / 3.0f);
  EXPECT_EQ(y[2], -3);
}

TEST(ExpressionBuilder, IntegersMeetFloats) {
  const Graph graph = instance_of("def f(float(N) x, int32(N) k) -> (y) { y(i) = x(i) * k(i) + i }",
                                  {{2}, {2}}, {DType::Float32, DType::Int32});
  EXPECT_EQ(outputs_of(graph, {counting({2}), counting({2}, DType::Int32)}), (List{1, 5}));
}

TEST(ExpressionBuilder, LiteralsTakeTheirDTypeFromOperands) {
  const Graph graph = instance_of(
      "def f(double(N) x) -> (y, z) { y(i) = x(i) * (1 / 3.0) z(i) = x(i) + double(0.1) }", {{1}},
      {DType::Float64});
  const std::vector<Array> in{counting({1}, DType::Float64)};
  EXPECT_EQ(outputs_of(graph, in)[0], 1.0 / 3);
  EXPECT_EQ(outputs_of(graph, in, 1)[0], 1.1);
}

TEST(ExpressionBuilder, HalvesComputeInFloat32) {
  const Graph graph = instance_of("def f(half(N) x) -> (y) { half(N) y(i) = x(i) * x(i) }", {{2}},
                                  {DType::Float16});
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Float16);
  EXPECT_EQ(outputs_of(graph, {counting({2}, DType::Float16)}), (List{1, 4}));
}

TEST(ExpressionBuilder, ConcreteTextsKeepEveryNodeAndSymbolicOnesFold) {
  const std::string body = ") x) -> (y) { y(i) = x(i) * 1.0 }";
  const Graph kept = parse_graph("def f(float(3" + body);
  EXPECT_TRUE(kept.pool.is(kept.stages[0].bodies[0], Op::Mul));
  const Graph folded = instance_of("def f(float(N" + body, {{3}});
  EXPECT_TRUE(folded.pool.is(folded.stages[0].bodies[0], Op::Read));
}

TEST(ExpressionBuilder, NarrowIntegersAreBroughtToTheWider) {
  const Graph graph = parse_graph(
      "def f(int8(2) a, int32(2) b, bool(2) c) -> (y, z) { y(i) = a(i) + b(i) z(i) = a(i) * c(i) "
      "}");
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Int32);
  EXPECT_EQ(graph.info(graph.outputs[1]).dtype, DType::Int8);
}

TEST(ExpressionBuilder, ALiteralThatDoesNotFitIsRefused) {
  EXPECT_NE(error_of("def f(int8(2) a) -> (y) { y(i) = a(i) + 200 }", ErrorCode::DType)
                .find("200 does not fit into int8"),
            std::string::npos);
  EXPECT_NE(error_of("def f() -> (y) { y() = half(70000.0) }").find("too large"),
            std::string::npos);
}

TEST(ExpressionBuilder, DecimalsAreRoundedOnceToTheirDType) {
  // Halfway between two float32 by way of float64.
  const Graph graph =
      parse_graph("def f() -> (y, z) { y() = 1.00000017881393432617187499 z() = double(0.1) }");
  const std::vector<Array> out = interpret(graph, {});
  EXPECT_EQ(out[0].at(0), static_cast<double>(1.00000017881393432617187499f));
  EXPECT_EQ(out[1].at(0), 0.1);
}

TEST(ExpressionBuilder, AConditionOfAReadIsBool) {
  EXPECT_NE(error_of("def f(float(2) x) -> (y) { y(i) = x(i where i) where i in 0:2 }")
                .find("must be bool"),
            std::string::npos);
}

}  // namespace
}  // namespace adjit::graph
