// tests/runtime/trace/ops/contractions/contraction_test.cpp -- matrix products and their relatives.
#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

// c[b, m, n] = sum_k a[b, m, k] * b[b, k, n] by three loops.
TEST(Contraction, MatmulRankRules) {
  const Array a = random_array(DType::Float64, {2, 1, 3, 4}, -1, 1, 1);
  const Array b = random_array(DType::Float64, {5, 4, 2}, -1, 1, 2);
  const Array c = run("matmul", {a, b});
  ASSERT_EQ(c.shape, (Shape{2, 5, 3, 2}));
  for (int64_t p = 0; p < 2; ++p)
    for (int64_t q = 0; q < 5; ++q)
      for (int64_t m = 0; m < 3; ++m)
        for (int64_t n = 0; n < 2; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k)
            sum += a.at((p * 3 + m) * 4 + k) * b.at((q * 4 + k) * 2 + n);
          EXPECT_NEAR(c.at(((p * 5 + q) * 3 + m) * 2 + n), sum, 1e-12);
        }
  const Array v = f64({3}, {1, 2, 3}), w = f64({3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(run("matmul", {v, v}).shape, (Shape{}));
  expect_near(run("matmul", {v, v}), {14});
  expect_near(run("matmul", {v, w}), {4, 5});
  expect_near(run("matmul", {run("transpose", {w}), v}), {4, 5});
  EXPECT_EQ(
      run("matmul", {random_array(DType::Float64, {2, 3, 4}, 0, 1, 3), f64({4}, {1, 1, 1, 1})})
          .shape,
      (Shape{2, 3}));
  EXPECT_THROW(run("matmul", {f64({}, {1}), v}), Error);
  expect_near(run("matmul", {f64({2, 0}, {}), f64({0, 2}, {})}), {0, 0, 0, 0});
}

TEST(Contraction, MatmulIsOneStage) {
  const Graph graph = trace_call("matmul", {f32({2, 3}, Values(6)), f32({3, 4}, Values(12))});
  ASSERT_EQ(graph.stages.size(), 1u);
  EXPECT_EQ(graph.stages[0].domain.extents, (Shape{2, 4, 3}));
  EXPECT_TRUE(graph.stages[0].domain.is_box());
  EXPECT_EQ(graph.stages[0].combiner.kind, CombinerKind::Sum);
  EXPECT_EQ(graph.stages[0].lines.at(0).operation, "matmul");
}

TEST(Contraction, OthersAreTheirDefinitions) {
  const Array a = f64({2, 2}, {1, 2, 3, 4}), v = f64({2}, {1, 10});
  expect_near(run("outer", {v, v}), {1, 10, 10, 100});
  expect_near(run("dot", {a, v}), {21, 43});
  expect_near(run("dot", {f64({}, {2}), v}), {2, 20});
  expect_near(run("vecdot", {a, v}), {21, 43});
  expect_near(run("tensordot", {a, a}), {30});
  expect_near(run("tensordot", {a, v}, R"({"axes": 0})"), {1, 10, 2, 20, 3, 30, 4, 40});
  expect_near(run("tensordot", {a, v}, R"({"axes": [[0], [0]]})"), {31, 42});
  expect_near(run("nn.linear", {v, a, f64({2}, {1, 2})}), {22, 45});
}

}  // namespace
}  // namespace adjit::testing
