// tests/runtime/diff/rules/reducer_tree_test.cpp -- custom reducers: value, derivative, work,
// refusals.
#include "runtime/diff/rules/reducer_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Ex max_of(Ex a, Ex b) { return call(Op::Max, a, b); }

/// A reducer of tuples of doubles: what it combines to, given left and right.
struct Reducer {
  std::string name;
  std::vector<double> identity;
  std::function<std::vector<Ex>(const std::vector<Ex>& left, const std::vector<Ex>& right)> combine;
};

Reducer product_reducer() {
  return {"product", {1}, [](const auto& a, const auto& b) { return std::vector{a[0] * b[0]}; }};
}

// Largest value so far, and the sum of exp(x - largest).
Reducer online_softmax() {
  return {"softmax", {-kInfinity, 0}, [](const auto& a, const auto& b) {
            const Ex m = max_of(a[0], b[0]);
            return std::vector{m, a[1] * call(Op::Exp, a[0] - m) + b[1] * call(Op::Exp, b[0] - m)};
          }};
}

// Count, mean, and sum of squared deviations.
Reducer welford() {
  return {"welford", {0, 0, 0}, [](const auto& a, const auto& b) {
            const Ex n = a[0] + b[0], delta = b[1] - a[1], share = b[0] / n;
            return std::vector{n, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share};
          }};
}

// Products of 2 x 2 matrices: associative, not commutative.
Reducer matrices() {
  return {"matrices", {1, 0, 0, 1}, [](const auto& a, const auto& b) {
            return std::vector{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                               a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
          }};
}

Ex argument(ExprPool& pool, size_t number) {
  return {&pool, pool.argument(number, DType::Float64)};
}

/// Reduces bodies(axes) over `over`; returns the results.
std::vector<TensorId> reduce(Forward& f, const Reducer& reducer, Shape shape, Shape over,
                             const std::function<std::vector<Ex>(const Axes&)>& bodies,
                             const Body& row = nullptr) {
  ExprPool& pool = f.graph.pool;
  Domain domain;
  domain.extents = shape;
  domain.output_rank = shape.size();
  domain.extents.insert(domain.extents.end(), over.begin(), over.end());
  Axes point;
  for (size_t k = 0; k < domain.rank(); ++k) point.push_back({&pool, pool.axis(k)});
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  std::vector<Ex> left, right;
  const size_t n = reducer.identity.size();
  for (size_t k = 0; k < n; ++k) {
    left.push_back(argument(pool, k));
    right.push_back(argument(pool, n + k));
    combiner.identity.push_back(pool.constant(reducer.identity[k], DType::Float64));
  }
  for (const Ex& e : reducer.combine(left, right)) combiner.combine.push_back(e.id);
  std::vector<ExprId> ids;
  for (const Ex& e : bodies(point)) ids.push_back(e.id);
  if (row) domain.inequalities.push_back(*as_affine(pool, row(point).id, domain));
  return add_compute(f.graph, reducer.name, domain, combiner, ids,
                     {SourceLine{"model.py", 7, "reducer"}});
}

/// Elements of a reducer from the inputs at a point: x itself, and functions of it for the others.
std::vector<Ex> elements(const Reducer& reducer, Ex x) {
  if (reducer.name == "softmax") return {x * 2.0, number(x, 1)};
  if (reducer.name == "welford") return {number(x, 1), x, number(x, 0)};
  if (reducer.name == "matrices") return {x, call(Op::Sin, x), x * x, call(Op::Cos, x)};
  return {x};
}

Graph forward_of(const Reducer& reducer, Shape over, bool rows) {
  Forward f;
  Shape shape{3};
  shape.insert(shape.end(), over.begin(), over.end());
  const TensorId x = f.input("x", shape);
  const Body row = [](const Axes& i) { return i[0] + 2.0 - i[1]; };
  return f.returning(reduce(
      f, reducer, {3}, over, [&](const Axes& i) { return elements(reducer, f.at(x, i)); },
      rows ? row : Body(nullptr)));
}

std::vector<size_t> all_outputs(const Graph& graph) {
  std::vector<size_t> list;
  for (size_t k = 0; k < graph.outputs.size(); ++k) list.push_back(k);
  return list;
}

class EachReducer : public ::testing::TestWithParam<Reducer> {};

TEST_P(EachReducer, TreeHasTheValueAndItsDerivativesAgreeWithDifferences) {
  for (const Shape& over : {Shape{1}, Shape{2}, Shape{5}, Shape{8}, Shape{3, 4}, Shape{1, 3, 1}})
    for (const bool rows : {false, true}) {
      const Graph forward = forward_of(GetParam(), over, rows);
      const size_t wrt[] = {0};
      const Graph tree = with_reducer_trees(forward, wrt, all_outputs(forward));
      verify(tree);
      const std::vector<Array> inputs = random_inputs(forward);
      const std::vector<Array> expected = interpret(forward, inputs), got = interpret(tree, inputs);
      for (size_t k = 0; k < expected.size(); ++k)
        for (int64_t e = 0; e < expected[k].element_count(); ++e)
          EXPECT_NEAR(got[k].at(e), expected[k].at(e), 1e-11 * (1 + std::abs(expected[k].at(e))))
              << print(tree);
      EXPECT_TRUE(check_gradients(forward, inputs, over.size() == 1 && over[0] == 5 ? 2 : 1))
          << print(tree);
    }
}

INSTANTIATE_TEST_SUITE_P(Reducers, EachReducer,
                         ::testing::Values(product_reducer(), online_softmax(), welford(),
                                           matrices()),
                         [](const auto& info) { return info.param.name; });

// At most two points per element forward, and a constant number of them in the gradient.
TEST(ReducerTree, WorkIsLinear) {
  for (const int64_t size : {64, 1000, 4096}) {
    const Graph forward = forward_of(online_softmax(), {size}, false);
    const size_t wrt[] = {0}, outputs[] = {1};
    EXPECT_LE(points(with_reducer_trees(forward, wrt, outputs)), 2 * 3 * size + 64);
    EXPECT_LE(points(vjp(forward, {{0}, {1}})), 14 * 3 * size) << size;
  }
}

TEST(ReducerTree, OnlyWhatADerivativePassesThroughChanges) {
  Forward f;
  const TensorId x = f.input("x", {4}), y = f.input("y", {4});
  const auto of = [&](TensorId t) {
    return reduce(f, product_reducer(), {}, {4},
                  [&, t](const Axes& i) { return std::vector{f.at(t, {i[0]})}; })[0];
  };
  const TensorId px = of(x), py = of(y), again = of(x);
  const Graph forward = f.returning({px, py, again});
  const size_t wrt[] = {0}, outputs[] = {0};
  const Graph tree = with_reducer_trees(forward, wrt, outputs);
  size_t custom = 0;
  for (const Stage& stage : tree.stages) custom += stage.combiner.kind == CombinerKind::Custom;
  EXPECT_EQ(custom, 2u) << print(tree);
}

TEST(ReducerTree, NothingToReduceHasNoDerivative) {
  Forward f;
  const TensorId x = f.input("x", {3, 0});
  const Graph forward = f.returning(reduce(f, product_reducer(), {3}, {0}, [&](const Axes& i) {
    return std::vector{f.at(x, {i[0], i[1]})};
  }));
  const Graph g = vjp(forward, {{0}, {0}});
  EXPECT_EQ(g.info(g.outputs[0]).shape, (Shape{3, 0}));
}

// A maximum with its place: an integer component beside a float one.
TEST(ReducerTree, IntegerComponentsFollow) {
  Forward f;
  ExprPool& pool = f.graph.pool;
  const TensorId x = f.input("x", {5});
  const ExprId at[] = {pool.axis(0)};
  const ExprId a = pool.argument(0, DType::Float64), b = pool.argument(2, DType::Float64);
  const ExprId left = pool.make(Op::Le, {b, a});
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  combiner.combine = {pool.select(left, a, b), pool.select(left, pool.argument(1, DType::Int64),
                                                           pool.argument(3, DType::Int64))};
  combiner.identity = {pool.constant(-kInfinity, DType::Float64), pool.constant_int(-1)};
  Domain domain;
  domain.extents = {5};
  const std::vector<TensorId> y =
      add_compute(f.graph, "y", domain, combiner, {read(f.graph, x, at), pool.axis(0)});
  const Graph forward = f.returning(y);
  const Graph g = vjp(forward, {{0}, {0}, true});
  const std::vector<Array> got =
      interpret(g, std::vector{Array::of(DType::Float64, {5}, std::vector<double>{1, 7, 3, 7, 2}),
                               Array::of(DType::Float64, {}, std::vector<double>{2})});
  EXPECT_EQ(got[0].at(0), 7);
  EXPECT_EQ(got[1].at(0), 1);
  for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(got[2].at(k), k == 1 ? 2 : 0);
}

TEST(ReducerTree, WhatIsNotAssociativeIsRefused) {
  const Reducer difference{
      "difference", {0}, [](const auto& a, const auto& b) { return std::vector{a[0] - b[0]}; }};
  const Graph forward = forward_of(difference, {4}, false);
  try {
    vjp(forward, {{0}, {0}});
    FAIL() << "derived";
  } catch (const Error& e) {
    const std::string message = e.what();
    EXPECT_EQ(e.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(message.find("model.py:7 (reducer): the reducer is not associative"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("custom_vjp"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace adjit::testing
