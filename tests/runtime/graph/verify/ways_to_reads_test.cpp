#include "runtime/graph/verify/ways_to_reads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace adjit::graph {
namespace {

class WaysToReads : public ::testing::Test {
 protected:
  ExprPool pool;
  const ExprId i = pool.axis(0);
  const ExprId x = element(i);
  ExprId element(ExprId index, ExprId predicate = {}) {
    return pool.read(TensorId{0}, DType::Float32, std::span(&index, 1), predicate);
  }
  // Of a condition on the axis.
  int64_t value_at(ExprId id, int64_t at) const {
    const auto operand = [&](size_t k) { return value_at(pool.operand(id, k), at); };
    switch (pool[id].op) {
      case Op::Axis: return at;
      case Op::And: return operand(0) & operand(1);
      case Op::Or: return operand(0) | operand(1);
      case Op::Not: return 1 - operand(0);
      case Op::Eq: return operand(0) == operand(1);
      case Op::Lt: return operand(0) < operand(1);
      case Op::Le: return operand(0) <= operand(1);
      default: return static_cast<int64_t>(pool.value(id).value());
    }
  }
  ExprId below(int64_t n) { return pool.make(Op::Lt, {i, pool.constant_int(n)}); }
  ExprId number(int64_t n) { return pool.constant(static_cast<double>(n), DType::Float32); }
  ExprId zero() { return pool.constant(0, DType::Float32); }
  std::vector<Way> ways(ExprId root, ExprId to) {
    return ways_to_reads(pool, std::span(&root, 1)).at(to.value).ways;
  }
};

TEST_F(WaysToReads, UnconditionalReads) { EXPECT_EQ(ways(pool.neg(x), x), std::vector<Way>{{}}); }

TEST_F(WaysToReads, BranchesOfSelects) {
  const ExprId inner = pool.select(below(3), x, zero());
  const ExprId outer = pool.select(below(2), zero(), inner);
  EXPECT_EQ(ways(outer, x).size(), 1u);
  Way expected{{below(3), true}, {below(2), false}};
  std::ranges::sort(expected);
  EXPECT_EQ(ways(outer, x)[0], expected);
}

TEST_F(WaysToReads, SecondOperandsOfLogic) {
  const ExprId positive = pool.make(Op::Lt, {zero(), x});
  EXPECT_EQ(ways(pool.logical_and(below(3), positive), x), (std::vector<Way>{{{below(3), true}}}));
  EXPECT_EQ(ways(pool.make(Op::Or, {below(3), positive}), x),
            (std::vector<Way>{{{below(3), false}}}));
  EXPECT_EQ(ways(pool.logical_and(positive, below(3)), x), std::vector<Way>{{}});
}

TEST_F(WaysToReads, TwoWaysAreBothKept) {
  const ExprId sum = pool.add(pool.select(below(2), x, zero()), pool.select(below(3), x, zero()));
  EXPECT_EQ(ways(sum, x).size(), 2u);
  EXPECT_EQ(ways(pool.add(sum, x), x), std::vector<Way>{{}});
}

TEST_F(WaysToReads, PredicatesGuardTheirIndices) {
  const ExprId at = pool.read(TensorId{1}, DType::Int64, std::span(&i, 1));
  const ExprId guarded = element(at, below(4));
  EXPECT_EQ(ways(guarded, at), (std::vector<Way>{{{below(4), true}}}));
  EXPECT_EQ(ways(guarded, guarded), std::vector<Way>{{}});
}

TEST_F(WaysToReads, ManyWaysAreWeakened) {
  ExprId sum = zero();
  for (int64_t n = 1; n < 30; ++n)
    sum = pool.add(sum, pool.select(below(100), pool.select(below(n), x, zero()), zero()));
  const std::vector<Way> found = ways(sum, x);
  EXPECT_LE(found.size(), 8u);
  for (const Way& way : found)
    EXPECT_TRUE(std::ranges::count(way, std::pair(below(100), true))) << way.size();
}

TEST_F(WaysToReads, OnlyManyWaysAreInexact) {
  ExprId sum = zero();
  for (int64_t n = 1; n < 12; ++n) {
    sum = pool.add(sum, pool.select(below(n), pool.mul(x, number(n)), zero()));
    const bool exact = ways_to_reads(pool, std::span(&sum, 1)).at(x.value).exact;
    EXPECT_EQ(exact, n <= 8) << n;
  }
}

// At every point of the axis, as the expression itself decides.
TEST_F(WaysToReads, WhereAReadIsEvaluatedOfAnyNumberOfWays) {
  ExprId sum = zero(), inner = pool.select(below(40), x, zero());
  for (int64_t n = 1; n < 30; n += 2) {
    const ExprId equal = pool.make(Op::Eq, {pool.axis(0), pool.constant_int(n)});
    sum = pool.add(sum, pool.select(equal, pool.mul(inner, number(n)), zero()));
  }
  const ExprId where = evaluated_where(pool, std::span(&sum, 1), x);
  for (int64_t at = 0; at < 50; ++at)
    EXPECT_EQ(value_at(where, at) != 0, at < 30 && at % 2 == 1) << at;
  EXPECT_EQ(pool.value(evaluated_where(pool, std::span(&x, 1), x)), 1.0);
}

TEST_F(WaysToReads, DeepChainsOfSelects) {
  ExprId chain = x;
  for (int64_t n = 1; n < 5000; ++n)
    chain = pool.select(below(n), pool.make(Op::Sin, {chain}), chain);
  EXPECT_NO_THROW(ways(chain, x));
}

}  // namespace
}  // namespace adjit::graph
