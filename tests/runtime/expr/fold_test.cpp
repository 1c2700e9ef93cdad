#include "runtime/expr/fold.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/expr/scalar.hpp"

namespace adjit::expr {
namespace {

class Fold : public ::testing::Test {
 protected:
  ExprPool pool;
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId x = pool.read(TensorId{0}, DType::Float32, std::span(&i, 1));
  const ExprId b = pool.read(TensorId{1}, DType::Bool, std::span(&i, 1));
  ExprId n(int64_t v) { return pool.constant_int(v); }
  ExprId f(double v) { return pool.constant_float(v, DType::Float32); }
  ExprId truth(bool v) { return pool.constant_int(v, DType::Bool); }
};

TEST_F(Fold, ConstantsAsTheInterpreterComputesThem) {
  EXPECT_EQ(pool.add(n(2), n(3)), n(5));
  EXPECT_EQ(pool.make(Op::FloorDiv, {n(-7), n(2)}), n(-4));
  EXPECT_EQ(pool.div(f(1), f(3)), f(static_cast<double>(1.0f / 3.0f)));
  EXPECT_EQ(pool.make(Op::Lt, {n(1), n(2)}), truth(true));
  EXPECT_EQ(pool.select(truth(false), f(1), f(2)), f(2));
}

TEST_F(Fold, BitsOfTruthValuesAreLogic) {
  const ExprId c = pool.make(Op::Lt, {i, j});
  EXPECT_EQ(pool.make(Op::BitAnd, {b, c}), pool.logical_and(b, c));
  EXPECT_EQ(pool.make(Op::BitOr, {b, c}), pool.make(Op::Or, {b, c}));
  EXPECT_EQ(pool.make(Op::BitXor, {b, c}), pool.make(Op::Ne, {b, c}));
  EXPECT_EQ(pool.make(Op::BitAnd, {b, truth(true)}), b);
  EXPECT_TRUE(pool.is(pool.make(Op::BitAnd, {i, j}), Op::BitAnd));
}

TEST_F(Fold, IntegerSumsHaveOneForm) {
  const ExprId sum = pool.add(pool.add(i, j), n(3));
  EXPECT_EQ(pool.add(n(3), pool.add(j, i)), sum);
  EXPECT_EQ(pool.sub(pool.add(sum, i), i), sum);
  EXPECT_EQ(pool.add(pool.mul(n(2), i), i), pool.mul(i, n(3)));
  EXPECT_EQ(pool.sub(i, i), n(0));
  EXPECT_EQ(pool.mul(pool.add(i, n(1)), n(0)), n(0));
  EXPECT_EQ(pool.neg(pool.sub(i, j)), pool.sub(j, i));
  EXPECT_EQ(pool.mul(pool.add(i, n(1)), n(2)), pool.add(pool.mul(i, n(2)), n(2)));
}

TEST_F(Fold, CastsThereAndBackAreNone) {
  for (int from = 0; from < kDTypeCount; ++from)
    for (int through = 0; through < kDTypeCount; ++through) {
      const auto narrow = static_cast<DType>(from), wide = static_cast<DType>(through);
      const ExprId read = pool.read(TensorId{2}, narrow, std::span(&i, 1));
      if (pool.cast(pool.cast(read, wide), narrow) != read) continue;
      for (uint32_t bits = 0; bits < 65536; ++bits) {  // all values of up to 16 bits
        int64_t wanted = narrow == DType::Bool ? bits % 2 : bits;
        int64_t kept = static_cast<int64_t>(uint64_t{bits} * 0x0001'0001'0001'0001ull);
        const void* source = size_of(narrow) > 2 ? &kept : &wanted;
        const Scalar value = load_element(source, narrow);
        if (is_float(narrow) && std::isnan(value.f)) continue;
        const Scalar there = apply(Op::Cast, narrow, wide, std::span(&value, 1));
        const Scalar back = apply(Op::Cast, wide, narrow, std::span(&there, 1));
        ASSERT_TRUE(is_float(narrow) ? back.f == value.f : back.i == value.i)
            << name_of(narrow) << " by way of " << name_of(wide) << ", " << bits;
      }
    }
  const ExprId half = pool.read(TensorId{2}, DType::BFloat16, std::span(&i, 1));
  EXPECT_EQ(pool.cast(pool.cast(half, DType::Float32), DType::BFloat16), half);
  EXPECT_NE(pool.cast(pool.cast(half, DType::Float16), DType::BFloat16), half);
  EXPECT_NE(pool.cast(pool.cast(x, DType::BFloat16), DType::Float32), x);
}

TEST_F(Fold, FloatsKeepTheirBits) {
  EXPECT_EQ(pool.add(x, f(-0.0)), x);
  EXPECT_NE(pool.add(x, f(0.0)), x);  // -0 + 0 is +0
  EXPECT_EQ(pool.sub(x, f(0.0)), x);
  EXPECT_NE(pool.sub(x, f(-0.0)), x);
  EXPECT_EQ(pool.mul(x, f(1)), x);
  EXPECT_EQ(pool.mul(x, f(-1)), pool.neg(x));
  EXPECT_FALSE(pool.is(pool.mul(x, f(0)), Op::Constant));
  EXPECT_FALSE(pool.is(pool.sub(x, x), Op::Constant));
  EXPECT_EQ(pool.div(x, f(1)), x);
  EXPECT_EQ(pool.neg(pool.neg(x)), x);
}

TEST_F(Fold, ComparisonsOfFloatsWithThemselvesSeeNan) {
  EXPECT_FALSE(pool.is(pool.make(Op::Eq, {x, x}), Op::Constant));
  EXPECT_FALSE(pool.is(pool.make(Op::Le, {x, x}), Op::Constant));
  EXPECT_FALSE(pool.is(pool.make(Op::Ne, {x, x}), Op::Constant));
  EXPECT_EQ(pool.make(Op::Lt, {x, x}), truth(false));
  EXPECT_EQ(pool.make(Op::Eq, {i, i}), truth(true));
}

TEST_F(Fold, Logic) {
  EXPECT_EQ(pool.logical_and(b, truth(true)), b);
  EXPECT_EQ(pool.logical_and(truth(false), b), truth(false));
  EXPECT_EQ(pool.make(Op::Or, {b, truth(true)}), truth(true));
  EXPECT_EQ(pool.logical_and(b, b), b);
  EXPECT_EQ(pool.make(Op::Not, {pool.make(Op::Not, {b})}), b);
}

TEST_F(Fold, DistancesAreTwoComparisons) {
  const ExprId d = pool.sub(i, j), distance = pool.make(Op::Abs, {d});
  for (const Op op : {Op::Le, Op::Lt}) {
    EXPECT_EQ(pool.make(op, {distance, n(2)}),
              pool.logical_and(pool.make(op, {n(-2), d}), pool.make(op, {d, n(2)})));
    EXPECT_EQ(pool.make(op, {n(2), distance}),
              pool.make(Op::Or, {pool.make(op, {d, n(-2)}), pool.make(op, {n(2), d})}));
  }
  EXPECT_TRUE(pool.is(pool.make(Op::Le, {distance, j}), Op::Le));  // no constant
  const ExprId least = n(std::numeric_limits<int64_t>::min());     // has no negative
  EXPECT_TRUE(pool.is(pool.make(Op::Le, {distance, least}), Op::Le));
}

TEST_F(Fold, Selects) {
  EXPECT_EQ(pool.select(b, x, x), x);
  EXPECT_EQ(pool.select(truth(true), x, f(0)), x);
  EXPECT_EQ(pool.select(b, pool.select(b, x, f(1)), f(2)), pool.select(b, x, f(2)));
  EXPECT_EQ(pool.select(b, x, pool.select(b, f(1), f(2))), pool.select(b, x, f(2)));
  EXPECT_EQ(pool.select(b, f(2), pool.select(b, x, f(2))), f(2));
}

TEST_F(Fold, LongSumsAndOverflowsStayAsWritten) {
  ExprId sum = n(0);
  for (size_t k = 0; k < 100; ++k) sum = pool.add(sum, pool.mul(pool.axis(k), pool.axis(k)));
  EXPECT_TRUE(pool.is(sum, Op::Add));
  const ExprId big = pool.mul(i, n(INT64_MAX));
  EXPECT_TRUE(pool.is(pool.mul(big, n(3)), Op::Mul));
}

// What folds must equal what would have been computed, bit for bit, for awkward floats.
TEST_F(Fold, IdentitiesHoldForAwkwardValues) {
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.5,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           1e-45};
  for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Pow, Op::Min, Op::Max})
    for (double c : {0.0, -0.0, 1.0, -1.0}) {
      const ExprId folded = pool.make(op, {x, f(c)});
      const bool to_x = folded == x, to_negative = folded == pool.neg(x);
      if (!to_x && !to_negative) continue;
      for (double v : values) {
        const Scalar operands[] = {Scalar::of_float(round_to(v, DType::Float32)),
                                   Scalar::of_float(c)};
        const double computed = apply(op, DType::Float32, DType::Float32, operands).f;
        const double expected = to_x ? operands[0].f : -operands[0].f;
        EXPECT_EQ(computed, expected) << info(op).name << " " << v << " " << c;
        EXPECT_EQ(std::signbit(computed), std::signbit(expected)) << info(op).name << " " << v;
      }
    }
}

}  // namespace
}  // namespace adjit::expr
