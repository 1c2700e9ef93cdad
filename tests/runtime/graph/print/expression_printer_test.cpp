// tests/runtime/graph/print/expression_printer_test.cpp -- expressions as text: parentheses, lets
// and names.
#include <gtest/gtest.h>

#include "runtime/graph/print/expression_printer.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(ExpressionPrinter, PrecedenceIsKept) {
  Graph graph;
  ExprPool& p = graph.pool;
  const TensorId x = add_input(graph, "x", DType::Int32, {});
  const ExprId a = read(graph, x, {}), two = p.constant(2, DType::Int32);
  const auto op = [&](Op o, ExprId l, ExprId r) {
    return p.intern({o, info(o).rule == TypeRule::Comparison ? DType::Bool : DType::Int32, 0, 0, 0},
                    std::vector{l, r});
  };
  std::vector<Op> ops{Op::Add,   Op::Sub,    Op::Mul,       Op::FloorDiv,   Op::Mod, Op::BitAnd,
                      Op::BitOr, Op::BitXor, Op::ShiftLeft, Op::ShiftRight, Op::Min, Op::Fmod};
  Domain domain;
  for (Op outer : ops)
    for (Op inner : ops) {
      const ExprId in = op(inner, a, two);
      for (ExprId body :
           {op(outer, in, a), op(outer, a, in), op(outer, in, in),
            p.intern({Op::Neg, DType::Int32, 0, 0, 0}, std::vector{op(outer, in, a)})})
        graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
    }
  const ExprId less = op(Op::Lt, a, two), equal = op(Op::Eq, op(Op::BitAnd, a, two), two);
  for (ExprId body :
       {p.make(Op::Not, {equal}), p.make(Op::And, {p.make(Op::Or, {less, equal}), less}),
        op(Op::Eq, less, equal)})
    graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
  expect_round_trip(graph);
}

TEST(ExpressionPrinter, UnfoldedNodesSurvive) {
  Graph graph;
  ExprPool& p = graph.pool;
  const ExprId one = p.constant(1, DType::Float64), half = p.constant(0.5, DType::Float32);
  const ExprId sum = p.intern({Op::Add, DType::Float64, 0, 0, 0}, std::vector{one, one});
  const ExprId cast = p.intern({Op::Cast, DType::Float32, 0, 0, 0}, std::vector{sum});
  const ExprId narrow = p.intern({Op::Cast, DType::Int8, 0, 0, 0}, std::vector{half});
  const ExprId negative = p.intern({Op::Neg, DType::Float32, 0, 0, 0}, std::vector{half});
  const ExprId nested = p.intern({Op::Neg, DType::Float32, 0, 0, 0}, std::vector{negative});
  const ExprId select = p.intern({Op::Select, DType::Float32, 0, 0, 0},
                                 std::vector{p.constant(1, DType::Bool), half, half});
  const ExprId widened = p.intern({Op::Cast, DType::Float64, 0, 0, 0}, std::vector{select});
  for (ExprId body : {sum, cast, narrow, negative, nested, select, widened})
    graph.outputs.push_back(add_compute(graph, "y", {}, {}, {body})[0]);
  const std::string text = print(graph);
  EXPECT_EQ(print(parse_graph(text)), text);
  EXPECT_NE(text.find("-(0.5)"), std::string::npos) << text;
}

// Ten thousand nodes that share each other: linear text, no deep recursion, and back.
TEST(ExpressionPrinter, LargeSharedBodiesPrintLinearly) {
  const auto length = [](int nodes) {
    Graph graph;
    const TensorId x = add_input(graph, "x", DType::Float32, {3});
    const ExprId i = graph.pool.axis(0);
    ExprId chain = read(graph, x, std::span(&i, 1));
    for (int k = 0; k < nodes; ++k)
      chain = k % 3 == 0
                  ? graph.pool.mul(chain, chain)
                  : graph.pool.make(
                        Op::Sin, {graph.pool.sub(graph.pool.constant(1, DType::Float32), chain)});
    Domain domain;
    domain.extents = {3};
    domain.output_rank = 1;
    graph.outputs = add_compute(graph, "y", domain, {}, {chain});
    expect_round_trip(graph);
    return print(graph).size();
  };
  const size_t small = length(1000), large = length(10000);
  EXPECT_LT(large, 12 * small);
  EXPECT_LT(large, 10000u * 60);
}

TEST(ExpressionPrinter, UsesTheNamesGiven) {
  const Graph graph = parse_graph("def f(float(3) x) -> (y) { y(i) = x(i) * 2 }");
  const std::string names[] = {"row"};
  EXPECT_EQ(print_expr(graph, graph.stages[0].bodies[0], names), "x(row) * 2.0");
}

TEST(ExpressionPrinter, WhatIsUsedTwiceAndLongIsNamedOnce) {
  const Graph graph = parse_graph(
      "def f(float(3) x) -> (y) { y(i) = let a = exp(x(i)) * sin(x(i)) + cos(x(i)); a * a + x(i) * "
      "x(i) }");
  const std::string text = print_stage(graph, graph.stages[0]);
  EXPECT_EQ(text,
            "y(i) =\n    let t0 = exp(x(i)) * sin(x(i)) + cos(x(i));\n    t0 * t0 + x(i) * x(i)\n"
            "  where i in 0:3\n");
}

TEST(ExpressionPrinter, RootsThatArePrintedTogetherShareTheirLets) {
  const Graph graph = parse_graph(
      "def f(float(3) x) -> (v, k) { (v, k)() argmax=! (sqrt(exp(x(r)) + sin(x(r)) * 3.0), r) }");
  const std::vector<std::string> tensors = printed_tensor_names(graph);
  const std::unordered_set<std::string> taken(tensors.begin(), tensors.end());
  const ExprId body = graph.stages[0].bodies[0], roots[] = {body, body};
  const PrintedExpressions printed =
      print_expressions(graph, roots, {tensors, &taken, {"r"}, {}}, "u");
  ASSERT_EQ(printed.lets.size(), 1u);
  EXPECT_EQ(printed.lets[0], "let u0 = sqrt(exp(x(r)) + sin(x(r)) * 3.0);");
  EXPECT_EQ(printed.roots, (std::vector<std::string>{"u0", "u0"}));
}

}  // namespace
}  // namespace adjit::graph
