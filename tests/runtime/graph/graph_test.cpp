#include "runtime/graph/graph.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::graph {
namespace {

TEST(Graph, NamesBecomeUniqueIdentifiers) {
  Graph graph;
  std::set<std::string> names;
  for (const char* wanted : {"x", "x", "", "3d", "a b", "x"})
    names.insert(graph.info(add_tensor(graph, wanted, DType::Float32, {})).name);
  EXPECT_EQ(names.size(), 6u);
  EXPECT_TRUE(names.contains("x"));
  EXPECT_TRUE(names.contains("a_b"));
}

TEST(Graph, NegativeExtentsAreRefused) {
  Graph graph;
  EXPECT_THROW(add_tensor(graph, "x", DType::Float32, {2, -1}), Error);
}

TEST(Graph, ConstantsNeedTheirBytes) {
  Graph graph;
  EXPECT_THROW(add_constant(graph, "c", DType::Int32, {2}, std::vector<std::byte>(7)), Error);
  EXPECT_NO_THROW(add_constant(graph, "c", DType::Int32, {2}, std::vector<std::byte>(8)));
}

TEST(Graph, ComputeMakesOneResultPerBody) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float32, {3, 5});
  Domain domain;
  domain.extents = {3, 5};
  domain.output_rank = 1;
  const ExprId index[] = {graph.pool.axis(0), graph.pool.axis(1)};
  Combiner combiner;
  combiner.kind = CombinerKind::ArgMax;
  const std::vector<TensorId> results =
      add_compute(graph, "best", domain, combiner, {read(graph, x, index), graph.pool.axis(1)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(graph.info(results[0]).shape, std::vector<int64_t>{3});
  EXPECT_EQ(graph.info(results[0]).dtype, DType::Float32);
  EXPECT_EQ(graph.info(results[1]).dtype, DType::Int64);
  EXPECT_EQ(tensors_read(graph, graph.stages[0]), std::vector<TensorId>{x});
  EXPECT_EQ(defining_stages(graph), (std::vector<size_t>{SIZE_MAX, 0, 0}));
}

TEST(Graph, ReadsCheckTheirRank) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float32, {3, 5});
  const ExprId i = graph.pool.axis(0);
  try {
    read(graph, x, std::span(&i, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
  }
}

TEST(Graph, TensorsReadByScatterScanAndPredicates) {
  const Graph graph = parse_graph(
      "def main(float(3) x, int64(3) I, float(4) z, bool(3) b) -> (y, h) {\n"
      "  scatter float(4) y(I(i)) += x(i where b(i)) from z where i in 0:3\n"
      "  scan (h) = step[2](carry float(4) c = y, fixed float(4) w = z) -> (n) {\n"
      "    n(i) = c(i) + w(i) where i in 0:4\n  }\n}");
  EXPECT_EQ(tensors_read(graph, graph.stages[0]).size(), 4u);
  EXPECT_EQ(tensors_read(graph, graph.stages[1]).size(), 2u);
}

TEST(SourceLine, Text) {
  EXPECT_EQ(to_string(SourceLine{"f.py", 12, "matmul"}), "f.py:12 (matmul)");
  EXPECT_EQ(to_string(SourceLine{}), "");
}

}  // namespace
}  // namespace adjit::graph
