// tests/runtime/diff/batch/loop_test.cpp -- elements of a batched loop stop one by one.
#include "runtime/diff/batch/loop.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// x doubles until it is 100 or more; n counts.
constexpr const char* kLoop = R"(def f(double x0, int64 n0, bool g0) -> (x, n, g) {
  scan (x, n, g) = step[while](carry double a = x0, carry int64 k = n0, carry bool m = g0) -> (b, l, more) {
    b() = a() * 2
    l() = k() + 1
    more() = b() < 100
  }
})";

// The graph that runs the batched loop: starting values are inputs.
Graph batched(int64_t size) {
  const Graph one = parse_graph(kLoop);
  const std::vector<BatchAxis> all(3, BatchAxis(0));
  const Scan scan = batched_loop(*one.stages[0].scan, all, size);
  Graph graph;
  Stage stage;
  stage.kind = StageKind::Scan;
  for (TensorId input : scan.body->inputs) {
    const TensorInfo& info = scan.body->info(input);
    stage.operands.push_back(add_input(graph, info.name, info.dtype, info.shape));
    stage.results.push_back(add_tensor(graph, info.name + "_last", info.dtype, info.shape));
  }
  stage.scan = std::make_shared<const Scan>(scan);
  graph.outputs = stage.results;
  graph.stages.push_back(std::move(stage));
  return graph;
}

TEST(BatchLoop, OneMoreCarrySaysWhetherAnyGoesOn) {
  const Graph graph = batched(3);
  verify(graph);
  const Scan& scan = *graph.stages[0].scan;
  EXPECT_EQ(scan.carries, 4u);
  EXPECT_TRUE(scan.conditional);
  EXPECT_EQ(scan.body->info(scan.body->inputs[0]).shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(scan.body->info(scan.body->inputs[3]).shape, std::vector<int64_t>{});
}

TEST(BatchLoop, ThoseThatHaveStoppedKeepTheirCarries) {
  const std::vector<Array> inputs{Array::of(DType::Float64, {3}, std::vector<double>{60, 1, 7}),
                                  Array::of(DType::Int64, {3}, std::vector<double>{0, 10, 0}),
                                  Array::of(DType::Bool, {3}, std::vector<double>{1, 1, 0}),
                                  Array::of(DType::Bool, {}, std::vector<double>{1})};
  const std::vector<Array> out = interpret(batched(3), inputs);
  const double x[] = {120, 128, 7}, n[] = {1, 17, 0};
  for (int64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(out[0].at(k), x[k]);
    EXPECT_EQ(out[1].at(k), n[k]);
    EXPECT_EQ(out[2].at(k), 0);
  }
  EXPECT_EQ(out[3].at(0), 0);
}

TEST(BatchLoop, AnyOfSomeAndOfNone) {
  for (int64_t size : {0, 3}) {
    Graph graph;
    const TensorId each = add_input(graph, "each", DType::Bool, {size});
    graph.outputs = {any_of(graph, each, size)};
    verify(graph);
    Array flags = Array::zeros(DType::Bool, {size});
    EXPECT_EQ(interpret(graph, {{flags}})[0].at(0), 0);
    if (size == 0) continue;
    flags.set(2, 1);
    EXPECT_EQ(interpret(graph, {{flags}})[0].at(0), 1);
  }
}

}  // namespace
}  // namespace adjit::testing
