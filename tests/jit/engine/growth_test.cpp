// tests/jit/engine/growth_test.cpp -- deriving and scheduling take work in proportion to the graph,
// counted in allocations: a pass that copies the graph for every stage shows.
#include <gtest/gtest.h>

#include <memory>

#include "tests/allocation_count.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Allocations of deriving the gradient of n operations one after the other, and of a schedule.
size_t allocations(int64_t n) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float32, {64});
  const ExprId i[] = {graph.pool.axis(0)};
  Domain domain;
  domain.extents = {64};
  domain.output_rank = 1;
  TensorId y = x;
  for (int64_t k = 0; k < n; ++k) {
    const ExprId body = graph.pool.mul(read(graph, y, i), read(graph, x, i));
    y = add_compute(graph, "y", domain, {}, {body})[0];
  }
  graph.outputs = {y};
  Transformation reverse;
  reverse.kind = Transformation::Kind::Vjp;
  reverse.wrt = {0};
  reverse.outputs = {0};
  Request request;
  request.computation = Computation::transformed(Computation(std::move(graph)), reverse);
  for (const Computation::Tensor& input : request.computation->inputs())
    request.layouts.push_back(contiguous_layout(input.shape));
  const Engine engine(memory_only(2));
  const size_t before = allocation_count();
  schedule_of(engine.compiler(), request);
  return allocation_count() - before;
}

TEST(Growth, SchedulesOfLongChainsAreLinear) {
  const size_t once = allocations(750);
  if (once == 0) GTEST_SKIP() << "allocations are the sanitizer's";
  EXPECT_LT(allocations(3000), 5 * once);
}

}  // namespace
}  // namespace adjit::testing
