#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::graph {
namespace {

const char* const kText =
    "def main(float(3) x, float(3) unused) -> (y) {\n"
    "  const float(2) c = [1.0, 2.0]\n"
    "  dead(i) = x(i) where i in 0:3\n"
    "  t(i) = x(i) * 2.0 where i in 0:3\n"
    "  y(i) = t(i) + x(i) where i in 0:3\n"
    "}\n";

TEST(Compact, DropsWhatNoOutputNeedsButKeepsInputs) {
  const Graph graph = compact(parse_graph(kText));
  EXPECT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_TRUE(graph.constants.empty());
  EXPECT_EQ(graph.tensors.size(), 4u);
  EXPECT_NO_THROW(verify(graph));
}

TEST(ContentHash, IgnoresNamesAndLinesAndWhatIsDead) {
  const Graph graph = parse_graph(kText);
  Graph renamed = graph;
  for (TensorInfo& tensor : renamed.tensors) tensor.name += "_other";
  for (Stage& stage : renamed.stages) stage.lines.clear();
  EXPECT_EQ(content_hash(renamed), content_hash(graph));
  EXPECT_EQ(content_hash(compact(graph)), content_hash(graph));
  EXPECT_EQ(content_hash(graph).size(), 32u);
}

TEST(ContentHash, SeesEverythingElse) {
  const Graph graph = parse_graph(kText);
  const std::string hash = content_hash(graph);
  Graph other = graph;
  other.outputs.push_back(other.outputs[0]);
  EXPECT_NE(content_hash(other), hash);
  other = graph;
  other.stages.back().stop_gradient = true;
  EXPECT_NE(content_hash(other), hash);
  other = graph;
  other.stages.back().domain.inequalities.push_back(Affine::variable(0));
  EXPECT_NE(content_hash(other), hash);
  other = graph;
  other.stages.back().bodies[0] = other.pool.neg(other.stages.back().bodies[0]);
  EXPECT_NE(content_hash(other), hash);
}

TEST(ContentHash, ExpressionsInAnotherOrderOfMakingAreTheSame) {
  const auto build = [](bool first) {
    Graph graph;
    const TensorId x = add_input(graph, "x", DType::Float32, {3, 3});
    if (first) graph.pool.axis(1);  // ids differ
    const ExprId i = graph.pool.axis(0), j = graph.pool.axis(1);
    const ExprId index[] = {i, j};
    Domain domain;
    domain.extents = {3, 3};
    domain.output_rank = 2;
    graph.outputs = add_compute(graph, "y", domain, {}, {graph.pool.neg(read(graph, x, index))});
    return graph;
  };
  EXPECT_EQ(content_hash(build(true)), content_hash(build(false)));
}

TEST(Compact, IsIdempotentOnRandomGraphs) {
  testing::RandomGraphOptions options;
  options.scatters = options.custom_combiners = true;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph once = compact(testing::random_graph(seed, options));
    EXPECT_EQ(print(compact(once)), print(once)) << seed;
    EXPECT_EQ(content_hash(compact(once)), content_hash(once)) << seed;
  }
}

}  // namespace
}  // namespace adjit::graph
