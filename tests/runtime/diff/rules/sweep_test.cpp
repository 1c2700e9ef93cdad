// tests/runtime/diff/rules/sweep_test.cpp -- one sweep gives the cotangent of every read.
#include "runtime/diff/rules/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/scalars.hpp"

namespace adjit::testing {
namespace {

constexpr auto kAll = [](ExprId) { return true; };

TEST(Sweep, GivesTheReadsInAscendingOrder) {
  Scalars s(3);  // y = x1 * sin(x0), with cotangent x2
  ExprPool& pool = s.pool();
  const ExprId y = pool.mul(s.x[1], pool.make(Op::Sin, {s.x[0]}));
  const Seed seeds[] = {{y, s.x[2], {}, {}}};
  const std::vector<Access> found = sweep(pool, seeds, kAll);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].read, s.x[0]);
  EXPECT_EQ(found[1].read, s.x[1]);
  EXPECT_FALSE(found[0].condition.valid());
  const std::vector<double> at{0.3, 2, 5};
  EXPECT_NEAR(s.at(found[0].value, at), 5 * 2 * std::cos(0.3), 1e-15);
  EXPECT_NEAR(s.at(found[1].value, at), 5 * std::sin(0.3), 1e-15);
}

TEST(Sweep, ReadsThatAreNotActiveAreLeftOut) {
  Scalars s(2);
  const ExprId y = s.pool().mul(s.x[0], s.x[1]);
  const Seed seeds[] = {{y, s.number(1), {}, {}}};
  const auto first = [&](ExprId read) { return read == s.x[0]; };
  const std::vector<Access> found = sweep(s.pool(), seeds, first);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].read, s.x[0]);
  EXPECT_TRUE(sweep(s.pool(), seeds, [](ExprId) { return false; }).empty());
  EXPECT_TRUE(sweep(s.pool(), {}, kAll).empty());
}

TEST(Sweep, NothingPassesThroughIntegers) {
  Scalars s(1);
  ExprPool& pool = s.pool();
  const ExprId whole = pool.cast(pool.cast(s.x[0], DType::Int64), DType::Float64);
  const Seed seeds[] = {{pool.mul(whole, s.number(3)), s.number(1), {}, {}}};
  EXPECT_TRUE(sweep(pool, seeds, kAll).empty());
}

TEST(Sweep, WhatSeveralSeedsReachAddsUp) {
  Scalars s(1);
  ExprPool& pool = s.pool();
  const Seed seeds[] = {{pool.mul(s.x[0], s.x[0]), s.number(1), {}, {}},
                        {pool.make(Op::Exp, {s.x[0]}), s.number(10), {}, {}},
                        {s.x[0], s.number(100), {}, {}}};
  const std::vector<Access> found = sweep(pool, seeds, kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(s.at(found[0].value, {0.5}), 1 + 10 * std::exp(0.5) + 100, 1e-13);
}

TEST(Sweep, ABranchIsReachedUnderItsCondition) {
  Scalars s(2);  // 0 < x1 ? sqrt(x0) : 3
  ExprPool& pool = s.pool();
  const ExprId positive = pool.make(Op::Lt, {s.number(0), s.x[1]});
  const ExprId y = pool.select(positive, pool.make(Op::Sqrt, {s.x[0]}), s.number(3));
  const Seed seeds[] = {{y, s.number(1), {}, {}}};
  const std::vector<Access> found = sweep(pool, seeds, kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].condition, positive);
  EXPECT_NEAR(s.at(found[0].value, {4, 1}), 0.25, 1e-15);
}

TEST(Sweep, ASeedsConditionComesBeforeThatOfABranch) {
  Scalars s(2);
  ExprPool& pool = s.pool();
  const ExprId outer = pool.make(Op::Lt, {s.number(0), s.x[1]});
  const ExprId inner = pool.make(Op::Lt, {s.x[1], s.number(1)});
  const Seed seeds[] = {{pool.select(inner, s.x[0], s.number(0)), s.number(1), outer, {}}};
  const std::vector<Access> found = sweep(pool, seeds, kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].condition, pool.logical_and(outer, inner));
}

TEST(Sweep, RulesUseTheValueThatIsStored) {
  Scalars s(2);  // exp(x0), whose value x1 holds
  ExprPool& pool = s.pool();
  const Seed seeds[] = {{pool.make(Op::Exp, {s.x[0]}), s.number(3), {}, s.x[1]}};
  const std::vector<Access> found = sweep(pool, seeds, kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.at(found[0].value, {0.5, 7}), 21);
}

TEST(Sweep, TenThousandFactorsGiveTwentyThousandNodes) {
  Scalars s(1);
  ExprId power = s.x[0];
  for (int k = 1; k < 10'000; ++k) power = s.pool().mul(power, s.x[0]);
  const size_t before = s.pool().size();
  const Seed seeds[] = {{power, s.number(1), {}, {}}};
  const std::vector<Access> found = sweep(s.pool(), seeds, kAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LE(s.pool().size() - before, 3 * 10'000u);
  EXPECT_EQ(s.at(found[0].value, {1}), 10'000);
}

}  // namespace
}  // namespace adjit::testing
