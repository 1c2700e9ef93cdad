// tests/runtime/graph/print/statement_test.cpp -- the parts of a statement, and the names in it.
#include "runtime/graph/print/statement.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

using Texts = std::vector<std::string>;

TEST(Statement, APartEachForWhatTheDomainAndTheBodySay) {
  const Graph graph = parse_graph(
      "def f(float(5, 9) x) -> (m) {\n"
      "  m(i) max=![first, region 2] x(i, r_j) where i in 0:5, r_j in 0:9, r_j <= 2*i\n"
      "}\n");
  const StatementText text = statement_texts(graph)[0];
  EXPECT_EQ(text.axes, (Texts{"i", "r_j"}));
  EXPECT_EQ(text.target, "m(i) max=![first, region 2]");
  EXPECT_EQ(text.lets, Texts());
  EXPECT_EQ(text.value, "x(i, r_j)");
  EXPECT_EQ(text.clauses, Texts());
  EXPECT_EQ(text.conditions, (Texts{"2*i >= r_j"}));
}

TEST(Statement, AScatterDeclaresItsResultAndSaysFromWhere) {
  const Graph graph = parse_graph(
      "def f(float(4) x, int64(4) at, float(9) start) -> (h) {\n"
      "  scatter float(9) h(at(i)) +=[drop] x(i) from start where i in 0:4\n"
      "}\n");
  const StatementText text = statement_texts(graph)[0];
  EXPECT_EQ(text.target, "scatter float(9) h(at(i)) +=[drop]");
  EXPECT_EQ(text.clauses, (Texts{"from start"}));
}

TEST(Statement, CustomReducersSayHowTheyCombine) {
  const Graph graph = parse_graph(
      "def f(float(4, 6) x) -> (m, n) {\n"
      "  (m, n)(i) custom=! (x(i, r_j), 1)\n"
      "    combine (a0, a1), (b0, b1) -> (max(a0, b0), a1 + b1)\n"
      "    identity (-inf, 0)\n"
      "    where i in 0:4, r_j in 0:6\n"
      "}\n");
  const StatementText text = statement_texts(graph)[0];
  EXPECT_EQ(text.target, "(m, n)(i) custom=!");
  EXPECT_EQ(text.value, "(x(i, r_j), 1)");
  EXPECT_EQ(text.clauses,
            (Texts{"combine (a0, a1), (b0, b1) -> (max(a0, b0), a1 + b1)", "identity (-inf, 0)"}));
}

TEST(Statement, NoVariableHasTheNameOfATensor) {
  Graph graph;
  const TensorId i = add_input(graph, "i", DType::Float32, {10}),
                 q = add_input(graph, "q0", DType::Float32, {10});
  Domain domain;
  domain.extents = {10};
  domain.output_rank = 1;
  domain.divisions = {{Affine::variable(0), 2}};
  domain.inequalities = {Affine::variable(1) - Affine(1)};
  const ExprId axis = graph.pool.axis(0);
  const ExprId sum = graph.pool.add(read(graph, i, {&axis, 1}), read(graph, q, {&axis, 1}));
  graph.outputs = add_compute(graph, "y", domain, {}, {sum});
  const StatementText text = statement_texts(graph)[0];
  EXPECT_EQ(text.axes, (Texts{"i_"}));
  EXPECT_EQ(text.conditions, (Texts{"q0_ = i_ // 2", "q0_ >= 1"}));
}

TEST(Statement, ScansAndCallsHaveNone) {
  const Graph graph = parse_graph(
      "def f(float(4) x) -> (y) {\n"
      "  call (float(4) y) = sort(x)\n"
      "}\n");
  ASSERT_EQ(statement_texts(graph).size(), 1U);
  EXPECT_EQ(statement_texts(graph)[0].target, "");
}

TEST(Statement, NamesOfTensorsAreDistinctAndNoReservedWords) {
  Graph graph;
  const TensorId ids[] = {add_input(graph, "max", DType::Float32, {4, 6}),
                          add_input(graph, "x", DType::Float64, {})};
  const TensorNames names(graph);
  EXPECT_EQ(names(ids), (Texts{"max_", "x"}));
  EXPECT_EQ(names.declared(ids), "(float(4, 6) max_, double x)");
  EXPECT_EQ(names(TensorId{7}), "undefined");
}

TEST(Statement, AttributesOfAnyStageStandBehindItsOwn) {
  Stage stage;
  EXPECT_EQ(attributes({}, stage), "");
  stage.stop_gradient = true;
  stage.region = 2;
  EXPECT_EQ(attributes({"first"}, stage), "[first, stop_gradient, region 2]");
}

}  // namespace
}  // namespace adjit::graph
