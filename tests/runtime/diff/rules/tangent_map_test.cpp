// tests/runtime/diff/rules/tangent_map_test.cpp -- tangents of tensors and of reads.
#include "runtime/diff/rules/tangent_map.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(TangentMap, ATensorWithoutAnEntryHasNone) {
  TangentMap map;
  EXPECT_FALSE(map.of(TensorId{3}).valid());
  map.set(TensorId{3}, TensorId{5});
  EXPECT_EQ(map.of(TensorId{3}), TensorId{5});
  EXPECT_FALSE(map.of(TensorId{5}).valid());
}

TEST(TangentMap, AddedTangentsAreLikeTheirTensor) {
  Graph graph;
  TangentMap map;
  const TensorId x = add_input(graph, "x", DType::Float32, {2, 3});
  const TensorId t = add_tangent(graph, map, x);
  EXPECT_EQ(map.of(x), t);
  EXPECT_EQ(graph.info(t).name, "t_x");
  EXPECT_EQ(graph.info(t).dtype, DType::Float32);
  EXPECT_EQ(graph.info(t).shape, graph.info(x).shape);
}

TEST(TangentMap, AReadsTangentKeepsIndexAndPredicateAndIsWide) {
  Graph graph;
  TangentMap map;
  const TensorId x = add_input(graph, "x", DType::Float16, {4});
  const ExprId i[] = {graph.pool.axis(0)};
  const ExprId inside = graph.pool.make(Op::Lt, {i[0], graph.pool.constant_int(3)});
  const ExprId value = read(graph, x, i, inside);
  EXPECT_FALSE(tangent_of_read(graph, map, value).valid());
  const TensorId t = add_tangent(graph, map, x);
  EXPECT_EQ(tangent_of_read(graph, map, value),
            graph.pool.cast(read(graph, t, i, inside), DType::Float32));
}

TEST(TangentMap, ZerosAreWrittenOutWhereThereIsNone) {
  Graph graph;
  TangentMap map;
  const TensorId x = add_input(graph, "x", DType::Float64, {3});
  graph.outputs = {tangent_or_zeros(graph, map, x)};
  EXPECT_EQ(graph.stages.size(), 1u);
  const std::vector<Array> inputs{Array::of(DType::Float64, {3}, std::vector<double>{1, 2, 3})};
  const Array zeros = interpret(graph, inputs)[0];
  EXPECT_EQ(zeros.bytes, Array::zeros(DType::Float64, {3}).bytes);
  const TensorId t = add_tangent(graph, map, x);
  EXPECT_EQ(tangent_or_zeros(graph, map, x), t);
  EXPECT_EQ(graph.stages.size(), 1u) << "no stage for one that is there";
}

}  // namespace
}  // namespace adjit::testing
