// tests/runtime/graph/splice_test.cpp -- a graph copied into another one.
#include "runtime/graph/splice.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

const char* const kCallee = R"(def inner(float(3) x, int64(3) I, float(3) h0) -> (s, h, x) {
  const float(3) c = [1, 2, 3]
  y(i) = x(i) * c(i) + x(i - 1 where 1 <= i)
  scatter float(3) s(I(i)) +=![drop] y(i) from c where i in 0:3
  scan (h) = step[2](carry float(3) a = h0, fixed float(3) b = y) -> (n) { n(i) = a(i) + b(i) }
})";

// The callee's outputs on its inputs, as a graph that has other tensors and stages before it.
Graph host(const Graph& callee, const std::vector<SourceLine>& lines = {},
           const std::function<void(Stage&)>& on_stage = {}) {
  Graph target =
      parse_graph("def outer(int64(3) I, float(3) u, float(3) x) -> (y) { y(i) = u(i) - 1.0 }");
  const TensorId arguments[] = {target.outputs[0], target.inputs[0], target.inputs[2]};
  target.outputs = splice(target, callee, arguments, lines, on_stage);
  return target;
}

TEST(Splice, AGraphComputesTheSameInAnother) {
  const Graph callee = parse_graph(kCallee), target = host(callee);
  verify(target);
  const Array index = longs({2, 0, 7}), u = floats({3}, {6, 7, 8}), x = floats({3}, {1, 2, 4});
  const std::vector<Array> alone =
      interpret(callee, std::vector<Array>{floats({3}, {5, 6, 7}), index, x});
  const std::vector<Array> inside = interpret(target, std::vector<Array>{index, u, x});
  ASSERT_EQ(inside.size(), 3u);
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(inside[k].bytes, alone[k].bytes) << k;
}

TEST(Splice, AnInputThatIsAnOutputIsItsArgument) {
  const Graph target = host(parse_graph(kCallee));
  EXPECT_EQ(target.outputs[2], target.stages[0].results[0]);
}

TEST(Splice, NamesStayUnique) {
  const Graph target = host(parse_graph(kCallee));
  std::set<std::string> names;
  for (const TensorInfo& tensor : target.tensors) names.insert(tensor.name);
  EXPECT_EQ(names.size(), target.tensors.size());
}

TEST(Splice, StagesWithoutLinesGetThoseOfTheCall) {
  Graph callee = parse_graph(kCallee);
  callee.stages[0].lines = {};
  callee.stages[1].lines = {{"inner.py", 4, "scatter"}};
  const std::vector<SourceLine> call{{"outer.py", 9, "call"}};
  const Graph target = host(callee, call);
  EXPECT_EQ(target.stages[1].lines, call);
  EXPECT_EQ(target.stages[2].lines, callee.stages[1].lines);
}

TEST(Splice, EveryCopiedStageMayBeChanged) {
  const Graph target = host(parse_graph(kCallee), {}, [](Stage& stage) { stage.region = 7; });
  ASSERT_EQ(target.stages.size(), 4u);
  EXPECT_EQ(target.stages[0].region, 0u) << "the target's own";
  for (size_t k = 1; k < 4; ++k) EXPECT_EQ(target.stages[k].region, 7u);
}

}  // namespace
}  // namespace adjit::graph
