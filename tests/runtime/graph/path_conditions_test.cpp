#include "runtime/graph/path_conditions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace adjit {
namespace {

class PathConditions : public ::testing::Test {
 protected:
  ExprPool pool;
  const ExprId i = pool.axis(0);
  const ExprId x = element(i);
  ExprId element(ExprId index, ExprId predicate = {}) {
    return pool.read(TensorId{0}, DType::Float32, std::span(&index, 1), predicate);
  }
  ExprId below(int64_t n) { return pool.make(Op::Lt, {i, pool.constant_int(n)}); }
  ExprId zero() { return pool.constant(0, DType::Float32); }
  std::vector<PathCondition> ways(ExprId root, ExprId to) {
    return path_conditions(pool, std::span(&root, 1)).at(to.value);
  }
};

TEST_F(PathConditions, UnconditionalReads) {
  EXPECT_EQ(ways(pool.neg(x), x), std::vector<PathCondition>{{}});
}

TEST_F(PathConditions, BranchesOfSelects) {
  const ExprId inner = pool.select(below(3), x, zero());
  const ExprId outer = pool.select(below(2), zero(), inner);
  EXPECT_EQ(ways(outer, x).size(), 1u);
  PathCondition expected{{below(3), true}, {below(2), false}};
  std::ranges::sort(expected);
  EXPECT_EQ(ways(outer, x)[0], expected);
}

TEST_F(PathConditions, SecondOperandsOfLogic) {
  const ExprId positive = pool.make(Op::Lt, {zero(), x});
  EXPECT_EQ(ways(pool.logical_and(below(3), positive), x),
            (std::vector<PathCondition>{{{below(3), true}}}));
  EXPECT_EQ(ways(pool.make(Op::Or, {below(3), positive}), x),
            (std::vector<PathCondition>{{{below(3), false}}}));
  EXPECT_EQ(ways(pool.logical_and(positive, below(3)), x), std::vector<PathCondition>{{}});
}

TEST_F(PathConditions, TwoWaysAreBothKept) {
  const ExprId sum = pool.add(pool.select(below(2), x, zero()), pool.select(below(3), x, zero()));
  EXPECT_EQ(ways(sum, x).size(), 2u);
  EXPECT_EQ(ways(pool.add(sum, x), x), std::vector<PathCondition>{{}});
}

TEST_F(PathConditions, PredicatesGuardTheirIndices) {
  const ExprId at = pool.read(TensorId{1}, DType::Int64, std::span(&i, 1));
  const ExprId guarded = element(at, below(4));
  EXPECT_EQ(ways(guarded, at), (std::vector<PathCondition>{{{below(4), true}}}));
  EXPECT_EQ(ways(guarded, guarded), std::vector<PathCondition>{{}});
}

TEST_F(PathConditions, ManyWaysAreWeakened) {
  ExprId sum = zero();
  for (int64_t n = 1; n < 30; ++n)
    sum = pool.add(sum, pool.select(below(100), pool.select(below(n), x, zero()), zero()));
  const std::vector<PathCondition> found = ways(sum, x);
  EXPECT_LE(found.size(), 8u);
  for (const PathCondition& way : found)
    EXPECT_TRUE(std::ranges::count(way, std::pair(below(100), true))) << way.size();
}

TEST_F(PathConditions, DeepChainsOfSelects) {
  ExprId chain = x;
  for (int64_t n = 1; n < 5000; ++n)
    chain = pool.select(below(n), pool.make(Op::Sin, {chain}), chain);
  EXPECT_NO_THROW(ways(chain, x));
}

}  // namespace
}  // namespace adjit
