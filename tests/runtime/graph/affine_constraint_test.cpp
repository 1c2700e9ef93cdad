#include "runtime/graph/affine_constraint.hpp"

#include <gtest/gtest.h>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/interpret/interpreter.hpp"

namespace adjit::graph {
namespace {

Domain box() {
  Domain domain;
  domain.extents = {6, 3};
  domain.output_rank = 2;
  return domain;
}

TEST(AffineConstraint, ComparisonsAndTheirNegationsAreRows) {
  ExprPool pool;
  Domain domain = box();
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const auto form = [&](ExprId literal) { return affine_constraint(pool, literal, domain)->form; };
  const auto negation = [&](ExprId literal) { return pool.make(Op::Not, {literal}); };
  const Affine row = Affine::variable(1) - Affine::variable(0);  // j - i
  EXPECT_EQ(form(pool.make(Op::Le, {i, j})), row);
  EXPECT_EQ(form(pool.make(Op::Lt, {i, j})), row + Affine(-1));
  EXPECT_EQ(form(negation(pool.make(Op::Lt, {i, j}))), -row);
  EXPECT_EQ(form(negation(pool.make(Op::Le, {i, j}))), -row + Affine(-1));
  EXPECT_EQ(form(pool.make(Op::Eq, {i, j})), row);
  EXPECT_EQ(form(negation(pool.make(Op::Ne, {i, j}))), row);
  EXPECT_TRUE(affine_constraint(pool, pool.make(Op::Eq, {i, j}), domain)->equality);
  EXPECT_FALSE(affine_constraint(pool, pool.make(Op::Ne, {i, j}), domain));
  EXPECT_FALSE(affine_constraint(pool, negation(pool.make(Op::Eq, {i, j})), domain));
}

TEST(AffineConstraint, WhatIsNoneLeavesTheDomain) {
  ExprPool pool;
  Domain domain = box();
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId quotient = pool.make(Op::FloorDiv, {pool.add(i, j), pool.constant_int(2)});
  EXPECT_FALSE(affine_constraint(pool, pool.make(Op::Lt, {quotient, pool.mul(i, j)}), domain));
  EXPECT_EQ(domain, box());
  EXPECT_TRUE(affine_constraint(pool, pool.make(Op::Lt, {quotient, j}), domain));
  EXPECT_EQ(domain.divisions.size(), 1u);
}

// A row says what code says, which wraps, and can be evaluated everywhere.
TEST(AffineConstraint, RowsHoldWhereWrappedComparisonsDo) {
  const int64_t numbers[] = {
      INT64_MIN,        INT64_MIN + 1,    INT64_MIN + 4, -(int64_t{1} << 62), -3,       0, 1, 5,
      int64_t{1} << 61, int64_t{1} << 62, INT64_MAX - 5, INT64_MAX - 1,       INT64_MAX};
  size_t rows = 0, wrapping = 0;
  for (const int64_t scale : {int64_t{1}, int64_t{-1}, int64_t{3}, int64_t{1} << 60, INT64_MAX / 5,
                              int64_t{1} << 62, INT64_MIN})
    for (const int64_t shift : numbers)
      for (const int64_t bound : numbers)
        for (const Op op : {Op::Lt, Op::Le, Op::Eq, Op::Ne})
          for (const bool divided : {false, true}) {
            ExprPool pool;
            Domain domain = box();
            ExprId side = pool.add(pool.mul(pool.axis(0), pool.constant_int(scale)),
                                   pool.constant_int(shift));
            if (divided) side = pool.make(Op::FloorDiv, {side, pool.constant_int(3)});
            ExprId literal = pool.make(op, {side, pool.constant_int(bound)});
            if (op == Op::Ne) literal = pool.make(Op::Not, {literal});
            const auto row = affine_constraint(pool, literal, domain);
            ++(row ? rows : wrapping);
            for (int64_t i = 0; row && i < 6; ++i) {
              int64_t value = 0;
              (void)__builtin_mul_overflow(i, scale, &value);
              (void)__builtin_add_overflow(value, shift, &value);
              if (divided) value = floor_div(value, 3);
              const bool holds = op == Op::Lt   ? value < bound
                                 : op == Op::Le ? value <= bound
                                                : value == bound;
              const int64_t at[] = {i, 0};
              const int64_t found = evaluate(row->form, domain.variables_at(at));
              EXPECT_EQ(row->equality ? found == 0 : found >= 0, holds)
                  << i << " * " << scale << " + " << shift << " against " << bound;
            }
          }
  EXPECT_GT(rows, 2000u);
  EXPECT_GT(wrapping, 2000u);
}

// A row is exact; code that asks it wraps at 64 bits and must find the same.
TEST(AffineConstraint, ConditionsHoldWhereTheirRowsDo) {
  Domain domain = box();
  domain.add_division(Affine::variable(0, 2, 1), 3);
  const int64_t huge = 3074457345618258605;
  size_t wrapping = 0;
  for (int64_t a : {int64_t{-2}, huge, -huge, int64_t{1} << 62})
    for (int64_t b : {int64_t{0}, int64_t{1}, -huge, huge + 3})
      for (int64_t q : {int64_t{0}, int64_t{-1}, huge / 2})
        for (int64_t c : {int64_t{-1}, int64_t{1}, huge, -2 * huge - 1})
          for (bool equality : {false, true}) {
            Graph graph;
            Affine form(c);
            form.set_coefficient(0, a);
            form.set_coefficient(1, b);
            form.set_coefficient(2, q);
            ExprId condition;
            try {
              condition = to_condition(graph.pool, form, equality, domain);
            } catch (const Overflow&) {
              continue;  // numbers that decide together
            }
            try {
              (void)domain.box_range(form);
            } catch (const Overflow&) {
              ++wrapping;
            }
            const ExprId body = graph.pool.cast(condition, DType::Float32);
            graph.outputs = add_compute(graph, "y", shape_box({6, 3}), {}, {body});
            const Array found = interpret(graph, {})[0];
            for (int64_t i = 0; i < 6; ++i)
              for (int64_t j = 0; j < 3; ++j) {
                const int64_t at[] = {i, j};
                const int sign = sign_at(form, domain.variables_at(at));
                EXPECT_EQ(found.at(3 * i + j) != 0, equality ? sign == 0 : sign >= 0)
                    << a << " " << b << " " << q << " " << c << " at " << i << ", " << j;
              }
          }
  EXPECT_GT(wrapping, 50u);
}

TEST(AffineConstraint, RowsThatSayNothingNewAreNotAdded) {
  Domain domain = box();
  const Affine row = Affine::variable(0, 1, -2);
  add_constraint(domain, {row, false});
  add_constraint(domain, {row, false});
  add_constraint(domain, {Affine(3), false});
  add_constraint(domain, {Affine(0), true});
  EXPECT_EQ(domain.inequalities, std::vector<Affine>{row});
  EXPECT_TRUE(domain.equalities.empty());
  add_constraint(domain, {Affine(-1), false});  // never
  EXPECT_EQ(domain.inequalities.size(), 2u);
}

// All rows together, at every point of the box.
TEST(AffineConstraint, TheRowsOfADomainAreOneCondition) {
  Graph graph;
  Domain domain = box();
  EXPECT_FALSE(rows_condition(graph.pool, domain).valid());
  const Affine i = Affine::variable(0), j = Affine::variable(1);
  domain.inequalities = {i - j, Affine(4) - i};
  domain.equalities = {i - j * 2};
  const ExprId body = graph.pool.cast(rows_condition(graph.pool, domain), DType::Float32);
  graph.outputs = add_compute(graph, "y", shape_box({6, 3}), {}, {body});
  const Array found = interpret(graph, {})[0];
  for (int64_t a = 0; a < 6; ++a)
    for (int64_t b = 0; b < 3; ++b)
      EXPECT_EQ(found.at(3 * a + b) != 0, b <= a && a <= 4 && a == 2 * b) << a << ", " << b;
}

}  // namespace
}  // namespace adjit::graph
