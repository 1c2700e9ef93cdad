// tests/runtime/graph/interpret/widen_test.cpp -- the same computation in float64.
#include <gtest/gtest.h>

#include "runtime/graph/interpret/widen.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Widen, RoundsNothingToFloat32) {
  const Graph graph = parse_graph(
      "def main(float(2) x) -> (y) { y() +=! double(x(r) * float(0.1)) / double(3.0) }");
  const std::vector<Array> out = interpret_in_double(
      graph, std::vector<Array>{Array::of(DType::Float64, {2}, List{1, 1e-12})});
  EXPECT_EQ(out[0].dtype, DType::Float64);
  EXPECT_EQ(out[0].at(0), static_cast<double>(0.1f) / 3 + static_cast<double>(0.1f) * 1e-12 / 3);
}

TEST(Widen, ReachesIntoScans) {
  const Graph graph = parse_graph(
      "def main(float a) -> (s) { scan (s) = step[2](carry float c = a) -> (n) { n = c / 3 } }");
  const std::vector<Array> out = interpret_in_double(graph, std::vector<Array>{floats({}, {1})});
  EXPECT_EQ(out[0].at(0), 1.0 / 3 / 3);
}

TEST(Widen, EveryFloatIsFloat64AndIntegersStay) {
  const Graph graph = parse_graph(
      "def main(half(2) h, int32(2) n, bool(2) b) -> (y, k) {\n"
      "  const float(2) c = [0.1, 3]\n  y(i) = float(h(i)) * c(i) + float(n(i))\n"
      "  k(i) = b(i) ? n(i) : int32(h(i))\n}");
  const Graph wide = widen(graph);
  ASSERT_EQ(wide.tensors.size(), graph.tensors.size());
  for (size_t t = 0; t < wide.tensors.size(); ++t) {
    const DType before = graph.tensors[t].dtype;
    EXPECT_EQ(wide.tensors[t].dtype, is_float(before) ? DType::Float64 : before);
  }
  const std::vector<Array> narrow{Array::of(DType::Float16, {2}, List{2.5, -1}),
                                  Array::of(DType::Int32, {2}, List{7, 8}),
                                  Array::of(DType::Bool, {2}, List{1, 0})};
  std::vector<Array> inputs;
  for (const Array& array : narrow) inputs.push_back(widen(array));
  const std::vector<Array> found = interpret(wide, inputs);
  EXPECT_EQ(values(found[0]), (List{2.5 * static_cast<double>(0.1f) + 7, 5})) << "c as rounded";
  EXPECT_EQ(values(found[1]), (List{7, -1}));
  EXPECT_EQ(found[1].dtype, DType::Int32);
}

TEST(Widen, CombinersAndTheirIdentitiesAreWidened) {
  const Graph graph = parse_graph(
      "def main(half(3) x) -> (y) { y() custom=! float(x(r)) combine (a), (b) -> (a * b + 0.1 * b) "
      "identity (0.25) }");
  const Graph wide = widen(graph);
  for (ExprId id : wide.stages[0].combiner.combine) EXPECT_EQ(wide.pool.dtype(id), DType::Float64);
  const ExprId identity = wide.stages[0].combiner.identity[0];
  EXPECT_EQ(wide.pool.dtype(identity), DType::Float64);
  EXPECT_EQ(wide.pool.value(identity), 0.25) << "casts that vanish move what is behind them";
}

TEST(Widen, ArraysKeepTheirValues) {
  const Array array = widen(Array::of(DType::BFloat16, {2}, List{0.1, -3}));
  EXPECT_EQ(array.dtype, DType::Float64);
  EXPECT_EQ(array.at(0), Array::of(DType::BFloat16, {1}, List{0.1}).at(0));
  const Array integers = Array::of(DType::Int8, {2}, List{1, -1});
  EXPECT_EQ(widen(integers).bytes, integers.bytes);
}

}  // namespace
}  // namespace adjit::graph
