// tests/runtime/trace/ops/reductions/softmax_test.cpp -- softmax and its relatives.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/softmax_rows.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Softmax, IsStableAndSumsToOne) {
  const Array x = random_array(DType::Float64, {3, 4}, -2, 2, 1);
  expect_near(run("nn.softmax", {x}), softmax_rows(values(x), 4));
  Values logs;
  for (double p : softmax_rows(values(x), 4)) logs.push_back(std::log(p));
  expect_near(run("nn.log_softmax", {x}), logs);
  expect_near(run("nn.softmax", {f64({2}, {1000, 1000})}), {0.5, 0.5});
  EXPECT_EQ(run("nn.softmax", {f64({2, 0}, {})}).shape, (Shape{2, 0}));
}

TEST(Softmax, TheLargestIsAConstantToTheDerivative) {
  const Graph graph = trace_call("nn.softmax", {f64({2, 3}, Values(6))});
  ASSERT_EQ(graph.stages.size(), 4u);
  EXPECT_TRUE(graph.stages[0].stop_gradient);
  EXPECT_EQ(graph.stages[0].combiner.kind, CombinerKind::Max);
  for (size_t k = 1; k < 4; ++k) EXPECT_FALSE(graph.stages[k].stop_gradient);
}

}  // namespace
}  // namespace adjit::testing
