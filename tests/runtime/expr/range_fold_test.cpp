// tests/runtime/expr/range_fold_test.cpp -- index expressions made simpler by ranges.
#include "runtime/expr/range_fold.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "runtime/expr/interval.hpp"
#include "runtime/expr/scalar.hpp"

namespace adjit::expr {
namespace {

class RangeFold : public ::testing::Test {
 protected:
  ExprId number(int64_t value, DType dtype = DType::Int64) {
    return pool_.constant_int(value, dtype);
  }
  ExprId small(ExprId id) { return pool_.cast(id, DType::Int32); }
  ExprId wide(ExprId id) { return pool_.cast(id, DType::Int64); }
  ExprId folded(ExprId root) { return folded_by_ranges(pool_, root, extents_); }

  // By evaluation at every point of the axes.
  void expect_inside(const std::optional<ValueRange>& range, ExprId id) {
    if (!range) return;
    for (int64_t y = 0; y < extents_[0]; ++y)
      for (int64_t x = 0; x < extents_[1]; ++x) {
        ASSERT_GE(value(id, {y, x}), range->lo) << "at " << y << ", " << x;
        ASSERT_LE(value(id, {y, x}), range->hi) << "at " << y << ", " << x;
      }
  }

  void expect_equal(ExprId a, ExprId b) {
    for (int64_t y = 0; y < extents_[0]; ++y)
      for (int64_t x = 0; x < extents_[1]; ++x)
        ASSERT_EQ(value(a, {y, x}), value(b, {y, x})) << "at " << y << ", " << x;
  }

  int64_t value(ExprId root, const std::vector<int64_t>& point) {
    std::unordered_map<uint32_t, Scalar> values;
    for (ExprId id : reachable(pool_, std::span(&root, 1))) {
      std::vector<Scalar> operands;
      for (ExprId operand : pool_.operands(id)) operands.push_back(values.at(operand.value));
      if (pool_.is(id, Op::Axis)) {
        values[id.value] = Scalar::of_int(point[pool_.axis_number(id)]);
      } else if (pool_.is(id, Op::Constant)) {
        values[id.value] = Scalar::of_int(*pool_.int_value(id));
      } else {
        values[id.value] =
            apply(pool_[id].op, pool_.dtype(pool_.operands(id).back()), pool_.dtype(id), operands);
      }
    }
    return values.at(root.value).i;
  }

  ExprPool pool_;
  std::vector<int64_t> extents_{7, 16};
  ExprId y_ = pool_.axis(0), x_ = pool_.axis(1);
};

TEST_F(RangeFold, DecidedComparisonsChoose) {
  const ExprId wrapped =
      pool_.select(pool_.make(Op::Lt, {x_, number(0)}), pool_.add(x_, number(16)), x_);
  EXPECT_EQ(folded(wrapped), x_);
  EXPECT_TRUE(pool_.is_true(folded(pool_.make(Op::Le, {y_, number(6)}))));
  EXPECT_TRUE(pool_.is_false(folded(pool_.make(Op::Eq, {y_, number(7)}))));
  EXPECT_TRUE(pool_.is_true(folded(pool_.make(Op::Ne, {y_, number(-1)}))));
  const ExprId open = pool_.make(Op::Lt, {x_, y_});
  EXPECT_EQ(folded(open), open);
}

TEST_F(RangeFold, DecidedMinAndMaxChoose) {
  EXPECT_EQ(folded(pool_.make(Op::Min, {x_, number(15)})), x_);
  EXPECT_EQ(folded(pool_.make(Op::Max, {number(0), x_})), x_);
  EXPECT_EQ(folded(pool_.make(Op::Max, {number(15), x_})), number(15));
  const ExprId open = pool_.make(Op::Min, {x_, y_});
  EXPECT_EQ(folded(open), open);
}

TEST_F(RangeFold, FlattenedPlacesAreTakenApart) {
  const ExprId flat = pool_.add(pool_.mul(y_, number(16)), x_);
  EXPECT_EQ(folded(pool_.make(Op::FloorDiv, {flat, number(16)})), y_);
  EXPECT_EQ(folded(pool_.make(Op::Mod, {flat, number(16)})), x_);
}

// Neighbours of a place: what is added is shared out between the two.
TEST_F(RangeFold, ConstantsGoToTheirSide) {
  const ExprId inner = pool_.make(Op::FloorDiv, {x_, number(2)});  // 0 to 7
  for (const int64_t constant : {17, 8, 0, -16, 33})
    for (const Op op : {Op::FloorDiv, Op::Mod}) {
      const ExprId flat = pool_.add(pool_.add(pool_.mul(y_, number(16)), inner), number(constant));
      const ExprId divided = pool_.make(op, {flat, number(16)}), now = folded(divided);
      EXPECT_NE(now, divided) << constant;
      expect_equal(divided, now);
    }
  const ExprId positive = pool_.add(inner, number(1));  // less one: from 0 again
  const ExprId flat =
      pool_.add(pool_.add(pool_.mul(y_, number(16)), pool_.mul(positive, number(2))), number(-2));
  const ExprId divided = pool_.make(Op::FloorDiv, {flat, number(16)});
  expect_equal(divided, folded(divided));
}

TEST_F(RangeFold, WhatLeavesItsRowStays) {
  const ExprId flat = pool_.add(pool_.add(pool_.mul(y_, number(16)), x_), number(1));
  const ExprId divided = pool_.make(Op::FloorDiv, {flat, number(16)});
  EXPECT_EQ(folded(divided), divided);
}

TEST_F(RangeFold, NarrowSumsAreWidenedWhereTheyCannotWrap) {
  const ExprId flat = pool_.add(pool_.mul(small(y_), number(16, DType::Int32)), small(x_));
  EXPECT_EQ(folded(pool_.make(Op::Mod, {wide(flat), number(16)})), x_);
  const ExprId huge = pool_.mul(small(y_), number(1 << 30, DType::Int32));
  const ExprId quotient = pool_.make(Op::FloorDiv, {wide(huge), number(1 << 30)});
  expect_equal(quotient, folded(quotient));
  const ExprId narrow = pool_.make(Op::FloorDiv, {huge, number(1 << 30, DType::Int32)});
  expect_equal(narrow, folded(narrow));
}

// 2^30 ways lead from the root to the leaf: each node is looked at once.
TEST_F(RangeFold, SharedSumsAreFoldedOnce) {
  ExprId sum = pool_.make(Op::Min, {small(x_), small(y_)});
  for (int k = 0; k < 60; ++k)
    sum = pool_.make(Op::Max, {pool_.add(sum, small(x_)), pool_.sub(sum, small(y_))});
  const ExprId place = wide(sum);
  const size_t before = pool_.size();
  EXPECT_EQ(pool_.dtype(folded(place)), DType::Int64);
  EXPECT_LT(pool_.size(), before + 1000);
}

// Random expressions with constants beside the ends of the types, which wrap: they stay inside
// their ranges, and what is made simpler has the same values.
TEST_F(RangeFold, WhatWrapsKeepsItsValue) {
  constexpr Op kOps[] = {Op::Add, Op::Sub,      Op::Mul, Op::Min, Op::Max,
                         Op::Add, Op::FloorDiv, Op::Mod, Op::Neg, Op::Abs};
  constexpr Op kComparisons[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
  const int64_t numbers[] = {-3,
                             1,
                             2,
                             16,
                             INT32_MAX,
                             INT32_MAX - 5,
                             INT32_MIN,
                             int64_t{1} << 32,
                             int64_t{1} << 62,
                             INT64_MAX,
                             INT64_MAX - 9,
                             INT64_MIN,
                             INT64_MIN + 3};
  std::mt19937 random(3);
  const auto any = [&](const auto& list) { return list[random() % std::size(list)]; };
  size_t changed = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<ExprId> made{y_, x_};
    for (int k = 0; k < 7; ++k) {
      const bool narrow = random() % 3 == 0;
      const auto operand = [&] {
        const ExprId id = random() % 3 == 0 ? number(any(numbers)) : any(made);
        return narrow ? small(id) : id;
      };
      const Op op = any(kOps);
      ExprId id;
      if (op == Op::Neg || op == Op::Abs)
        id = pool_.make(op, {operand()});
      else if (random() % 8 == 0)
        id = pool_.select(pool_.make(any(kComparisons), {operand(), operand()}), operand(),
                          operand());
      else
        id = pool_.make(op, {operand(), operand()});
      made.push_back(narrow ? wide(id) : id);
      expect_inside(interval_of(pool_, made.back(), extents_), made.back());
    }
    const ExprId simpler = folded(made.back());
    expect_equal(made.back(), simpler);
    changed += simpler != made.back();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(changed, 300u);
}

}  // namespace
}  // namespace adjit::expr
