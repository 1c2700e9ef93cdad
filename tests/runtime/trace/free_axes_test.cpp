// tests/runtime/trace/free_axes_test.cpp -- axes that expressions depend on, through reductions.
#include "runtime/trace/free_axes.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/notation_builder.hpp"

namespace adjit::testing {
namespace {

TEST(FreeAxes, AreThoseThatNoReductionFolds) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 3}, {1, 2, 3, 4, 5, 6}));
  const AxisHandle i = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 3);
  const ScalarExpr read = b.at(A, {b.v(i), b.v(k)});
  const ScalarExpr total = b.sum(read, {k});
  FreeAxes free(b.n);
  EXPECT_EQ(free.of(value_of(b.n, read).expr), (Axes{0, 1}));
  EXPECT_EQ(free.of(value_of(b.n, total).expr), (Axes{0}));
  EXPECT_EQ(free.of_reduction(0), (Axes{0}));
  EXPECT_TRUE(free.of(value_of(b.n, b.lit(2.0)).expr).empty());
}

TEST(FreeAxes, OfAConditionCount) {
  NotationBuilder b;
  const AxisHandle i = add_axis(b.n, 0, 4), k = add_axis(b.n, 0, 4);
  const ScalarExpr total = b.sum(b.lit(1.0), {k}, b.op(Op::Le, b.v(k), b.v(i)));
  FreeAxes free(b.n);
  EXPECT_EQ(free.of(value_of(b.n, total).expr), (Axes{0}));
}

TEST(FreeAxes, SetsOfAxes) {
  const Axes few{1, 2}, many{2, 1, 3}, other{0};
  EXPECT_TRUE(contains(few, 2) && subset(few, many) && disjoint(few, other));
  EXPECT_FALSE(contains(few, 3) || subset(many, few) || disjoint(few, many));
  Axes all = few;
  insert_all(all, many);
  EXPECT_EQ(all, (Axes{1, 2, 3}));
}

}  // namespace
}  // namespace adjit::testing
