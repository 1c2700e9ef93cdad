// tests/runtime/graph/parse/statement_builder_test.cpp -- statements as stages.
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

#include "runtime/graph/parse/statement_builder.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(StatementBuilder, AccumulationOntoEarlierValues) {
  const Graph graph = instance_of(
      "def f(float(N, M) A, float(N) b) -> (y) {\n"
      "  y(i) = b(i)\n  y(i) += A(i, k)\n  y(i) *= 2\n  y(i) max= 8.0 where i in 0:1\n"
      "  y(i) = 0 where i in 1:2 \n}",
      {{3, 2}, {3}});
  EXPECT_EQ(outputs_of(graph, {counting({3, 2}), counting({3})}), (List{8, 0, 28}));
  EXPECT_EQ(graph.info(graph.outputs[0]).name, "y");
}

TEST(StatementBuilder, AccumulationOntoNothingStartsAtTheIdentity) {
  EXPECT_EQ(
      outputs_of(instance_of("def f(float(N) x) -> (y) { y += x(i) }", {{3}}), {counting({3})}),
      List{6});
}

TEST(StatementBuilder, ComputedLeftHandSidesAreScatters) {
  const Graph graph =
      instance_of("def hist(float(N) X, int32(N) I) -> (H) { float(4) H(I(i)) += X(i) }",
                  {{3}, {3}}, {DType::Float32, DType::Int32});
  EXPECT_EQ(graph.stages[0].kind, StageKind::Scatter);
  EXPECT_EQ(outputs_of(graph, {counting({3}), Array::of(DType::Int32, {3}, List{1, 3, 1})}),
            (List{0, 4, 0, 2}));
  // A constant index: the rest keeps its values.
  EXPECT_EQ(outputs_of(instance_of("def f(float(N) x) -> (y) { y(i) = x(i) y(0) = 9 }", {{3}}),
                       {counting({3})}),
            (List{9, 2, 3}));
}

// Each older version gets the next number that no tensor has. So many that searching for it from
// the first one on would take minutes.
TEST(StatementBuilder, VersionsOfOneNameAreNumbered) {
  constexpr size_t kUpdates = 100'000;
  std::string text = "def f(float(3) x) -> (t) {\n  t_3(i) = x(i)\n  t(i) = t_3(i)\n";
  for (size_t k = 0; k < kUpdates; ++k) text += "  t(i) = sin(t(i))\n";
  const Graph graph = parse_graph(text + "}");
  std::unordered_set<std::string> names;
  for (const TensorInfo& tensor : graph.tensors) names.insert(tensor.name);
  EXPECT_EQ(names.size(), graph.tensors.size());
  EXPECT_EQ(graph.info(graph.outputs[0]).name, "t");
  EXPECT_TRUE(names.contains("t_" + std::to_string(kUpdates)));
}

TEST(StatementBuilder, ATupleCannotBeAccumulatedOnto) {
  EXPECT_NE(error_of("def f(float(9) x) -> (v) { (v, k)() argmax= (x(r), r) }").find("use =!"),
            std::string::npos);
}

TEST(StatementBuilder, ADeclaredShapeIsTheOneOfTheRanges) {
  EXPECT_NE(
      error_of("def f(float(9) x) -> (y) { float(8) y(i) = x(i) where i in 0:9 }", ErrorCode::Shape)
          .find("the declared shape"),
      std::string::npos);
}

TEST(StatementBuilder, AScatterNeedsAShapeThatFitsItsIndices) {
  const auto scatter = [](const std::string& statement) {
    return error_of("def f(float(9) x, int64(9) I, float(4) z) -> (y) { scatter " + statement +
                    " }");
  };
  EXPECT_NE(scatter("y(I(i)) +=! x(i)").find("declare it"), std::string::npos);
  EXPECT_NE(scatter("y(I(i), 0) +=! x(i) from z").find("1 dimensions but is written with 2"),
            std::string::npos);
  EXPECT_NE(scatter("float(5) y(I(i)) +=! x(i) from z").find("differ in shape"), std::string::npos);
  EXPECT_NE(scatter("float(5) y(I(i)) argmax=! x(i)").find("argmax"), std::string::npos);
}

TEST(StatementBuilder, AnIdentityIsConstant) {
  EXPECT_NE(
      error_of("def f(float(9) x, float s) -> (y) { y() custom=! x(r) combine (a), (b) -> (a * "
               "b) identity (s) }")
          .find("the identity must be constant"),
      std::string::npos);
}

TEST(StatementBuilder, APartOfATensorLeavesTheRest) {
  EXPECT_EQ(
      run_one("float(5) x", "y(i) = x(i) y(i) = 0 where i in 0:5, i % 2 == 0", {counting({5})}),
      (List{0, 2, 0, 4, 0}));
}

TEST(StatementBuilder, StagesKnowTheirLineAndRegion) {
  const Graph graph =
      parse_graph("def f(float(3) x) -> (y) {\n\n  y(i) =[region 3, stop_gradient] x(i)\n}");
  EXPECT_EQ(graph.stages[0].lines, (std::vector<SourceLine>{{"<text>", 3, "f"}}));
  EXPECT_EQ(graph.stages[0].region, 3u);
  EXPECT_TRUE(graph.stages[0].stop_gradient);
  EXPECT_NE(error_of("def f(float(3) x) -> (y) { y(i) =[region -1] x(i) }").find("no number"),
            std::string::npos);
}

}  // namespace
}  // namespace adjit::graph
