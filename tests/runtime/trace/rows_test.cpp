// tests/runtime/trace/rows_test.cpp -- conditions as rows of a domain, against enumeration.
#include "runtime/trace/rows.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

struct Comparisons {
  ExprPool pool;
  ExprId i = pool.axis(0), j = pool.axis(1);
  Domain domain = [] {
    Domain made;
    made.extents = {6, 6};
    made.output_rank = 1;
    return made;
  }();

  ExprId n(int64_t value) { return pool.constant_int(value); }
  ExprId lt(ExprId a, ExprId b) { return pool.make(Op::Lt, {a, b}); }
  ExprId le(ExprId a, ExprId b) { return pool.make(Op::Le, {a, b}); }
  ExprId no(ExprId a) { return pool.make(Op::Not, {a}); }
  ExprId data() {
    const ExprId index[] = {i};
    return pool.read(TensorId{0}, DType::Float64, index);
  }
};

TEST(ConditionRows, ConjunctsAreTakenApartWithNegationsInside) {
  Comparisons c;
  const ExprId a = c.lt(c.i, c.j), b = c.le(c.j, c.n(3));
  EXPECT_EQ(normalized_conjuncts(c.pool, c.pool.logical_and(a, b)), (std::vector<ExprId>{a, b}));
  EXPECT_EQ(normalized_conjuncts(c.pool, c.no(c.pool.make(Op::Or, {a, b}))),
            (std::vector<ExprId>{c.le(c.j, c.i), c.lt(c.n(3), c.j)}));
  EXPECT_TRUE(normalized_conjuncts(c.pool, c.pool.constant_int(1, DType::Bool)).empty());
  EXPECT_EQ(normalized_conjuncts(c.pool, c.no(c.no(a))), std::vector<ExprId>{a});
}

// Of floats !(x < 1) also holds where x is no number.
TEST(ConditionRows, ComparisonsOfFloatsKeepTheirNegation) {
  Comparisons c;
  const ExprId below = c.lt(c.data(), c.pool.constant(1, DType::Float64));
  EXPECT_EQ(normalized_conjuncts(c.pool, c.no(below)), std::vector<ExprId>{c.no(below)});
}

TEST(ConditionRows, AConjunctionOfNothingHolds) {
  Comparisons c;
  EXPECT_TRUE(c.pool.is_true(conjunction(c.pool, {})));
  const ExprId a = c.lt(c.i, c.j);
  EXPECT_EQ(conjunction(c.pool, {a}), a);
}

TEST(ConditionRows, AffineComparisonsRestrictTheDomainToWhereTheyHold) {
  Comparisons c;
  const ExprId even = c.pool.make(Op::Eq, {c.pool.make(Op::Mod, {c.j, c.n(2)}), c.n(0)});
  const ExprId rest = restrict_domain(c.pool, c.pool.logical_and(c.le(c.j, c.i), even), c.domain);
  EXPECT_TRUE(c.pool.is_true(rest));
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(c.domain.contains(std::vector<int64_t>{i, j}), j <= i && j % 2 == 0) << i << j;
}

TEST(ConditionRows, WhatIsNoRowIsLeftAndChangesNothing) {
  Comparisons c;
  const Domain before = c.domain;
  const ExprId data = c.lt(c.data(), c.pool.constant(1, DType::Float64));
  const ExprId product = c.lt(c.pool.mul(c.i, c.j), c.n(4));
  for (ExprId factor : {data, product}) {
    EXPECT_FALSE(add_row(c.pool, factor, c.domain));
    EXPECT_EQ(c.domain, before);
  }
  EXPECT_EQ(restrict_domain(c.pool, c.pool.logical_and(data, c.le(c.j, c.i)), c.domain), data);
  EXPECT_EQ(c.domain.inequalities.size(), 1u);
}

}  // namespace
}  // namespace adjit::testing
