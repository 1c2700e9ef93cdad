// tests/autosched/analysis/reads/indexed_vectors_test.cpp -- products with signs, and what is
// computed before rows.
#include "autosched/analysis/reads/indexed_vectors.hpp"

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/program/graph_edit.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RowParts, SignsAreFactors) {
  ExprPool pool;
  const ExprId index[] = {pool.axis(0)};
  const ExprId x = pool.read(TensorId{0}, DType::Float32, index),
               y = pool.read(TensorId{1}, DType::Float32, index),
               first = pool.make(Op::Eq, {pool.axis(1), pool.constant_int(0)});
  const ExprId product = pool.mul(x, y);
  for (const bool negative : {true, false}) {
    const ExprId body = negative ? pool.make(Op::Select, {first, pool.neg(product), product})
                                 : pool.make(Op::Select, {first, product, pool.neg(product)});
    const Product factors = factors_with_signs(pool, pool.neg(body));
    EXPECT_TRUE(factors.negative);
    ASSERT_EQ(factors.factors.size(), 3u);
    EXPECT_EQ(factors.factors[0].axes, bit(1)) << "the sign";
    EXPECT_EQ(factors.factors[0].expr,
              pool.make(Op::Select, {first, pool.constant(negative ? -1 : 1, DType::Float32),
                                     pool.constant(negative ? 1 : -1, DType::Float32)}));
    EXPECT_EQ(factors.factors[1].expr, x);
    EXPECT_EQ(factors.factors[2].expr, y);
  }
  EXPECT_EQ(factors_with_signs(pool, pool.make(Op::Select, {first, x, y})).factors.size(), 1u);
}

TEST(RowParts, SetsOfAxes) {
  EXPECT_EQ(axes_of(bit(5) | bit(0)), (std::vector<size_t>{0, 5}));
  EXPECT_TRUE(axes_of(0).empty());
  EXPECT_TRUE(has_short_places(std::vector<int64_t>{3, 0x7fffffff}));
  EXPECT_FALSE(has_short_places(std::vector<int64_t>{3, 0x80000000}));
}

TEST(RowParts, WhatTakesLittleIsNotComputedAhead) {
  Graph graph = matmul_graph(4, 5, 6);
  Program p = plain(graph);
  ExprPool& pool = p.graph.pool;
  const ExprId index[] = {pool.axis(0), pool.axis(2)};
  const ExprId read = pool.read(graph.inputs[0], DType::Float32, index);
  WeighedRows rows;
  rows.domain = p.graph.stages[0].domain;
  rows.along = 0;
  rows.weights = {read, ExprId{}, pool.mul(pool.add(read, read), read)};
  rows.places = {pool.axis(0), pool.constant_int(3),
                 pool.make(Op::Min, {pool.add(pool.axis(0), pool.axis(2)), pool.constant_int(3)}),
                 pool.make(Op::Min, {pool.axis(2), pool.constant_int(2)})};
  const WeighedRows before = rows;
  size_t stage = 0;
  compute_ahead(p, stage, "C", rows);
  EXPECT_EQ(stage, 2u) << print(p);
  EXPECT_EQ(rows.weights[0], before.weights[0]);
  EXPECT_FALSE(rows.weights[1].valid());
  EXPECT_TRUE(pool.is(rows.weights[2], Op::Read));
  EXPECT_EQ(rows.places[0], before.places[0]);
  EXPECT_EQ(rows.places[1], before.places[1]);
  EXPECT_TRUE(contains_read(pool, {&rows.places[2], 1}));
  EXPECT_EQ(rows.places[3], before.places[3]) << "no neighbours along the points";
  EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{6, 4})) << "points are last";
}

}  // namespace
}  // namespace adjit::sched
