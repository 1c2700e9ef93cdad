// tests/runtime/diff/rewrite/anti_unify_test.cpp -- expressions that differ by constants, as one.
#include "runtime/diff/rewrite/anti_unify.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

struct Expressions {
  ExprPool pool;
  ExprId y = place(1), x = place(2);

  ExprId place(uint32_t tensor) {
    const ExprId index[] = {pool.axis(0)};
    return pool.cast(pool.read(TensorId{tensor}, DType::Int32, index), DType::Int64);
  }
  ExprId c(int64_t value) { return pool.constant_int(value); }
  ExprId at(ExprId row, ExprId column, ExprId predicate = {}) {
    const ExprId index[] = {row, column};
    return pool.read(TensorId{0}, DType::Float32, index, predicate);
  }
  ExprId clipped(ExprId index) {
    return pool.make(Op::Max, {pool.make(Op::Min, {index, c(7)}), c(0)});
  }

  // The generalization at the values of each expression is that expression.
  void expect_covers(const std::vector<ExprId>& all, std::vector<int64_t> extents) {
    const std::optional<AntiUnified> found = anti_unify(pool, all, 1);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->extents, extents);
    for (size_t t = 0; t < all.size(); ++t) {
      std::vector<ExprId> here{pool.axis(0)};
      for (int64_t value : found->values[t]) here.push_back(c(value));
      EXPECT_EQ(substitute_axes(pool, found->expr, here), all[t]) << t;
    }
  }
  void expect_none(const std::vector<ExprId>& all) { EXPECT_FALSE(anti_unify(pool, all, 1)); }
};

TEST(AntiUnify, CornersOfACellHaveAnAxisADimension) {
  Expressions e;
  std::vector<ExprId> corners;
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1})
      corners.push_back(e.at(e.pool.add(e.y, e.c(a)), e.pool.add(e.x, e.c(b))));
  e.expect_covers(corners, {2, 2});
}

TEST(AntiUnify, ConstantsThatMoveTogetherShareAnAxis) {
  Expressions e;
  std::vector<ExprId> diagonal, turned;
  for (int64_t a : {-1, 0, 1}) {
    diagonal.push_back(e.at(e.pool.add(e.y, e.c(a)), e.pool.add(e.x, e.c(3 * a))));
    turned.push_back(e.at(e.pool.add(e.y, e.c(a)), e.pool.add(e.x, e.c(-2 * a))));
  }
  e.expect_covers(diagonal, {3});
  e.expect_covers(turned, {3});
}

TEST(AntiUnify, GoesThroughMinMaxAndPredicates) {
  Expressions e;
  std::vector<ExprId> clipped, guarded;
  for (int64_t a : {0, 1, 2}) {
    const ExprId row = e.pool.add(e.y, e.c(a));
    clipped.push_back(e.at(e.clipped(row), e.x));
    guarded.push_back(e.at(row, e.x, e.pool.make(Op::Lt, {row, e.c(9)})));
  }
  e.expect_covers(clipped, {3});
  e.expect_covers(guarded, {3});
}

TEST(AntiUnify, AShiftInsideAWideningIndexIsOneOfTheIndex) {
  Expressions e;
  const ExprId index[] = {e.pool.axis(0)};
  const ExprId narrow = e.pool.read(TensorId{1}, DType::Int32, index);
  const ExprId next = e.pool.add(narrow, e.pool.constant_int(1, DType::Int32));
  const ExprId both[] = {e.at(e.pool.cast(narrow, DType::Int64), e.x),
                         e.at(e.pool.cast(next, DType::Int64), e.x)};
  const std::optional<AntiUnified> found = anti_unify(e.pool, both, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->expr, e.at(e.pool.add(e.pool.cast(narrow, DType::Int64), e.pool.axis(1)), e.x));
}

TEST(AntiUnify, RefusesWhatDiffersOtherwise) {
  Expressions e;
  e.expect_none({e.at(e.y, e.x), e.at(e.x, e.y)});
  e.expect_none({e.at(e.y, e.x), e.pool.neg(e.at(e.y, e.x))});
  e.expect_none({e.at(e.y, e.x), e.at(e.y, e.x, e.pool.make(Op::Lt, {e.y, e.c(9)}))});
  // 0, 1, 3 is no progression; INT64_MIN and INT64_MAX are no distance apart.
  e.expect_none({e.at(e.y, e.c(0)), e.at(e.y, e.c(1)), e.at(e.y, e.c(3))});
  e.expect_none({e.at(e.y, e.c(INT64_MIN)), e.at(e.y, e.c(INT64_MAX))});
}

}  // namespace
}  // namespace adjit::diff
