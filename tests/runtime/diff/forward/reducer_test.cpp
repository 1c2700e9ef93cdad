// tests/runtime/diff/forward/reducer_test.cpp -- custom reducers of dual numbers.
#include "runtime/diff/forward/reducer.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/forward/forward.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/tangent_check.hpp"

namespace adjit::testing {
namespace {

// log(sum exp) as a reducer of pairs (largest, sum), and the last of two by a decay: associative.
Graph online_softmax(Forward& f) {
  const TensorId x = f.input("x", {3, 5}), w = f.input("w", {5});
  ExprPool& pool = f.graph.pool;
  const DType d = DType::Float64;
  const auto arg = [&](size_t k) { return pool.argument(k, d); };
  const ExprId m = pool.make(Op::Max, {arg(0), arg(2)});
  const auto scaled = [&](size_t k) {
    return pool.mul(arg(k + 1), pool.make(Op::Exp, {pool.sub(arg(k), m)}));
  };
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  combiner.combine = {m, pool.add(scaled(0), scaled(2))};
  combiner.identity = {pool.constant_float(-1e30, d), pool.constant_float(0, d)};
  Domain domain;
  domain.extents = {3, 5};
  domain.output_rank = 1;
  const ExprId at[] = {pool.axis(0), pool.axis(1)}, along[] = {pool.axis(1)};
  const ExprId body = pool.mul(read(f.graph, x, at), read(f.graph, w, along));
  const std::vector<TensorId> pair =
      add_compute(f.graph, "pair", domain, combiner, {body, pool.constant_float(1, d)});
  return f.returning({f.map("y", {3}, [&](const Axes& i) {
    return f.at(pair[0], i) + call(Op::Log, f.at(pair[1], i));
  })});
}

TEST(ForwardCustom, ReducersOfDualNumbers) {
  Forward f;
  const Graph forward = online_softmax(f);
  const std::vector<Array> inputs = random_inputs(forward);
  EXPECT_TRUE(agrees_with_differences(forward, inputs));
  EXPECT_TRUE(agrees_with_differences(forward, inputs, false));
  const Graph first = jvp(forward, {.wrt = {0, 1}, .keep_outputs = true});
  EXPECT_TRUE(agrees_with_differences(first, random_inputs(first)));
  const Graph second = jvp(first, {.wrt = {0, 1, 2, 3}});
  EXPECT_TRUE(agrees_with_differences(second, random_inputs(second)));
}

// y(i) = the product over j < columns of x(i, j), by a reducer.
Graph product_by_reducer(int64_t columns) {
  Graph g;
  const TensorId x = add_input(g, "x", DType::Float64, {2, columns});
  ExprPool& pool = g.pool;
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  combiner.combine = {pool.mul(pool.argument(0, DType::Float64), pool.argument(1, DType::Float64))};
  combiner.identity = {pool.constant_float(1, DType::Float64)};
  Domain domain;
  domain.extents = {2, columns};
  domain.output_rank = 1;
  const ExprId index[] = {pool.axis(0), pool.axis(1)};
  g.outputs = add_compute(g, "y", domain, combiner, {read(g, x, index)});
  return g;
}

TEST(ForwardCustom, AProductIsThatOfDualNumbers) {
  const Graph tangent = jvp(product_by_reducer(3), {.wrt = {0}, .keep_outputs = true});
  const std::vector<Array> inputs{
      Array::of(DType::Float64, {2, 3}, std::vector<double>{2, 3, 5, 0, 3, 5}),
      Array::of(DType::Float64, {2, 3}, std::vector<double>{1, 10, 100, 1, 10, 100})};
  const std::vector<Array> found = interpret(tangent, inputs);
  EXPECT_EQ(found[0].at(0), 30);
  EXPECT_EQ(found[1].at(0), 15 + 10 * 10 + 100 * 6);
  EXPECT_EQ(found[1].at(1), 15) << "exact beside a zero";
}

TEST(ForwardCustom, OfNothingIsTheIdentityWhichDoesNotMove) {
  const Graph tangent = jvp(product_by_reducer(0), {.wrt = {0}, .keep_outputs = true});
  const std::vector<Array> none(2, Array::zeros(DType::Float64, {2, 0}));
  const std::vector<Array> found = interpret(tangent, none);
  EXPECT_EQ(found[0].at(0), 1);
  EXPECT_EQ(found[1].at(0), 0);
}

TEST(ForwardCustom, ThatDoesNotMoveKeepsItsComponents) {
  Graph g = product_by_reducer(3);
  TangentMap none;
  push_custom(g, none, 0);
  EXPECT_EQ(g.stages[0].results.size(), 1u);
  EXPECT_EQ(g.stages[0].combiner.combine.size(), 1u);
}

}  // namespace
}  // namespace adjit::testing
