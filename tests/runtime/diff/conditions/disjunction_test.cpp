// tests/runtime/diff/conditions/disjunction_test.cpp -- disjunctions as disjoint domains, against
// enumeration.
#include "runtime/diff/conditions/disjunction.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/diff/conditions/condition.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

Domain plane(int64_t n) {
  Domain domain;
  domain.extents = {n, n};
  domain.output_rank = 1;
  return domain;
}

// Every point where the condition holds lies in one of the domains, and no other point in any.
void expect_partition(ExprPool& pool, ExprId condition, const Domain& domain,
                      const std::vector<Domain>& parts) {
  for (int64_t i = 0; i < domain.extents[0]; ++i)
    for (int64_t k = 0; k < domain.extents[1]; ++k) {
      const std::vector<int64_t> point{i, k};
      int64_t found = 0;
      for (const Domain& part : parts) found += part.contains(point) ? 1 : 0;
      ASSERT_EQ(found, domain.contains(point) ? value_at(pool, condition, point) : 0)
          << i << ", " << k;
    }
}

TEST(Disjunction, AlternativesThatNeverMeetAreADomainEach) {
  ExprPool pool;
  const ExprId i = pool.axis(0), k = pool.axis(1), next = pool.add(i, pool.constant_int(1));
  const ExprId condition = either(pool, pool.make(Op::Eq, {k, i}), pool.make(Op::Eq, {k, next}));
  const auto parts = disjoint_domains(pool, condition, plane(6));
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].equalities.size(), 1u);
  EXPECT_EQ((*parts)[1].equalities.size(), 1u);
  expect_partition(pool, condition, plane(6), *parts);
}

TEST(Disjunction, AlternativesThatOverlapLoseWhatEarlierOnesHave) {
  ExprPool pool;
  const ExprId i = pool.axis(0), k = pool.axis(1), before = pool.sub(i, pool.constant_int(2));
  const ExprId condition = either(pool, pool.make(Op::Le, {k, i}), pool.make(Op::Le, {before, k}));
  const auto parts = disjoint_domains(pool, condition, plane(6));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->size(), 2u);
  expect_partition(pool, condition, plane(6), *parts);
}

TEST(Disjunction, AConditionThatNeverHoldsLeavesNoDomain) {
  ExprPool pool;
  const ExprId never = pool.make(Op::Lt, {pool.axis(1), pool.constant_int(-1)});
  const auto parts = disjoint_domains(pool, never, plane(6));
  ASSERT_TRUE(parts);
  EXPECT_TRUE(parts->empty());
  const ExprId one = pool.make(Op::Lt, {pool.axis(1), pool.constant_int(3)});
  EXPECT_TRUE(disjoint_domains(pool, one, plane(0))->empty()) << "a domain without points";
}

TEST(Disjunction, WhatDataSaysIsNoDomain) {
  ExprPool pool;
  const ExprId index[] = {pool.axis(0)};
  const ExprId datum = pool.read(TensorId{0}, DType::Int64, index);
  const ExprId affine = pool.make(Op::Lt, {pool.axis(1), pool.constant_int(2)});
  const ExprId condition = either(pool, affine, pool.make(Op::Eq, {pool.axis(1), datum}));
  EXPECT_FALSE(disjoint_domains(pool, condition, plane(6)));
}

TEST(Disjunction, MoreThanAFewDomainsAreRefused) {
  ExprPool pool;
  const auto of = [&](int64_t alternatives) {
    ExprId any;
    for (int64_t n = 0; n < alternatives; ++n) {
      const ExprId one = pool.make(Op::Eq, {pool.axis(1), pool.constant_int(2 * n)});
      any = any.valid() ? either(pool, any, one) : one;
    }
    return disjoint_domains(pool, any, plane(40));
  };
  EXPECT_EQ(of(8)->size(), 8u);
  EXPECT_FALSE(of(9));
}

TEST(Disjunction, RandomConditionsArePartitioned) {
  std::mt19937 random(2);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int found = 0;
  for (int round = 0; round < 300; ++round) {
    ExprPool pool;
    const auto form = [&] {
      const ExprId i = pool.mul(pool.axis(0), pool.constant_int(draw(-1, 2)));
      const ExprId k = pool.mul(pool.axis(1), pool.constant_int(draw(-2, 2)));
      ExprId sum = pool.add(pool.add(i, k), pool.constant_int(draw(-4, 4)));
      if (draw(0, 3) == 0) sum = pool.make(Op::FloorDiv, {sum, pool.constant_int(draw(2, 3))});
      return sum;
    };
    ExprId condition;
    for (int64_t n = draw(1, 3); n > 0; --n) {
      const Op op = std::array{Op::Lt, Op::Le, Op::Eq}[static_cast<size_t>(draw(0, 2))];
      ExprId literal = pool.make(op, {form(), pool.constant_int(0)});
      if (draw(0, 2) == 0) literal = negation(pool, literal);
      if (!condition.valid()) {
        condition = literal;
      } else {
        condition = pool.make(draw(0, 2) ? Op::Or : Op::And, {condition, literal});
        if (draw(0, 3) == 0) condition = negation(pool, condition);
      }
    }
    Domain domain = plane(7);
    if (draw(0, 1)) domain.inequalities = {Affine::variable(0) - Affine::variable(1) + Affine(3)};
    const auto parts = disjoint_domains(pool, condition, domain);
    if (!parts) continue;
    ++found;
    expect_partition(pool, condition, domain, *parts);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(found, 200);
}

}  // namespace
}  // namespace adjit::testing
