// tests/runtime/expr/interval_test.cpp -- ranges of index expressions, against every point of the
// box.
#include "runtime/expr/interval.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "runtime/expr/integer.hpp"

namespace adjit::expr {
namespace {

struct Expressions {
  ExprPool pool;
  std::vector<int64_t> extents{5, 3};

  ExprId data(DType dtype = DType::Int64) {
    const ExprId zero[] = {pool.constant_int(0)};
    return pool.cast(pool.read(TensorId{0}, dtype, zero), DType::Int64);
  }
  ExprId c(int64_t value) { return pool.constant_int(value); }
  ExprId make(Op op, ExprId a, ExprId b) { return pool.make(op, {a, b}); }
  void expect(ExprId expr, int64_t lo, int64_t hi) {
    const std::optional<ValueRange> range = interval_of(pool, expr, extents);
    ASSERT_TRUE(range.has_value());
    EXPECT_EQ(range->lo, lo);
    EXPECT_EQ(range->hi, hi);
  }
  void expect_unknown(ExprId expr) { EXPECT_FALSE(interval_of(pool, expr, extents).has_value()); }
};

TEST(IntervalOf, Axes) {
  Expressions e;
  e.expect(e.pool.axis(0), 0, 4);
  e.expect(e.make(Op::Sub, e.pool.axis(0), e.make(Op::Mul, e.pool.axis(1), e.c(3))), -6, 4);
  e.expect(e.make(Op::FloorDiv, e.make(Op::Sub, e.pool.axis(0), e.c(3)), e.c(2)), -2, 0);
  e.expect(e.make(Op::Mod, e.pool.axis(0), e.c(8)), 0, 4);
  e.expect(e.make(Op::Mod, e.pool.axis(0), e.c(3)), 0, 2);
  e.expect_unknown(e.pool.axis(2));
}

TEST(IntervalOf, WhatIsUnknownIsBoundedByMinMaxAndMod) {
  Expressions e;
  e.expect_unknown(e.data());
  e.expect_unknown(e.make(Op::Min, e.data(), e.c(7)));
  e.expect(e.make(Op::Max, e.make(Op::Min, e.data(), e.c(7)), e.c(-1)), -1, 7);
  e.expect(e.make(Op::Max, e.make(Op::Min, e.make(Op::Add, e.data(), e.c(1)), e.c(7)), e.c(0)), 0,
           7);
  e.expect(e.make(Op::Mod, e.data(), e.c(6)), 0, 5);
  e.expect_unknown(e.make(Op::Mod, e.c(6), e.data()));
  e.expect_unknown(e.make(Op::Mul, e.data(), e.c(0x7fffffff)));
}

TEST(IntervalOf, NarrowerTypesHoldNoMore) {
  Expressions e;
  e.expect(e.data(DType::Bool), 0, 1);
  e.expect(e.data(DType::UInt8), 0, 255);
  e.expect(e.data(DType::Int8), -128, 127);
  e.expect(e.data(DType::Int16), -32768, 32767);
  e.expect(e.make(Op::Max, e.data(DType::Int32), e.c(0)), 0, 0x7fffffff);
  e.expect_unknown(e.data(DType::Float32));
}

TEST(IntervalOf, OverflowIsUnknown) {
  Expressions e;
  const ExprId large = e.make(Op::Mul, e.pool.axis(0), e.c(int64_t{1} << 61));
  e.expect_unknown(e.make(Op::Mul, large, e.c(3)));
  e.expect(e.make(Op::Max, e.make(Op::Min, e.make(Op::Mul, large, e.c(3)), e.c(9)), e.c(2)), 2, 9);
}

// Random expressions over two axes: every value lies inside.
TEST(IntervalOf, ContainsEveryValue) {
  constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::FloorDiv, Op::Mod};
  std::mt19937 random(5);
  for (int trial = 0; trial < 500; ++trial) {
    Expressions e;
    struct Term {
      ExprId id;
      std::array<int64_t, 15> values;  // at each point
    };
    std::vector<Term> terms;
    for (size_t axis : {0, 1}) {
      Term t{e.pool.axis(axis), {}};
      for (size_t p = 0; p < 15; ++p) t.values[p] = static_cast<int64_t>(axis == 0 ? p / 3 : p % 3);
      terms.push_back(t);
    }
    for (int k = 0; k < 6; ++k) {
      const Op op = kOps[random() % std::size(kOps)];
      const Term& a = terms[random() % terms.size()];
      Term b = terms[random() % terms.size()];
      if (op == Op::FloorDiv || op == Op::Mod || random() % 2 == 0) {
        const auto value = static_cast<int64_t>(1 + random() % 4);
        b.id = e.c(value);
        b.values.fill(value);
      }
      Term made{e.make(op, a.id, b.id), {}};
      for (size_t p = 0; p < 15; ++p) {
        const int64_t x = a.values[p], y = b.values[p];
        int64_t& v = made.values[p];
        switch (op) {
          case Op::Add: v = x + y; break;
          case Op::Sub: v = x - y; break;
          case Op::Mul: v = x * y; break;
          case Op::Min: v = std::min(x, y); break;
          case Op::Max: v = std::max(x, y); break;
          case Op::FloorDiv: v = floor_div(x, y); break;
          default: v = floor_mod(x, y); break;
        }
      }
      const std::optional<ValueRange> range = interval_of(e.pool, made.id, e.extents);
      ASSERT_TRUE(range.has_value());
      for (int64_t v : made.values) {
        EXPECT_GE(v, range->lo);
        EXPECT_LE(v, range->hi);
      }
      terms.push_back(made);
    }
  }
}

struct Floats : Expressions {
  ExprId real(DType dtype = DType::Float32) {
    const ExprId zero[] = {pool.constant_int(0)};
    return pool.read(TensorId{0}, dtype, zero);
  }
  ExprId f(double value) { return pool.constant_float(value, DType::Float32); }
  ExprId whole(ExprId value) { return pool.cast(value, DType::Int64); }
  ExprId clip(ExprId x, double lo, double hi) {
    const ExprId below = pool.select(make(Op::Lt, f(hi), x), f(hi), x);
    return pool.select(make(Op::Lt, x, f(lo)), f(lo), below);
  }
};

TEST(IntervalOf, ClippedFloatsBoundTheIndicesTheyBecome) {
  Floats e;
  const ExprId clipped = e.clip(e.real(), 0, 9);
  e.expect(e.whole(clipped), 0, 9);
  const ExprId down = e.pool.make(Op::Floor, {clipped});
  e.expect(e.whole(down), 0, 9);
  e.expect(e.whole(e.pool.cast(down, DType::Int32)), 0, 9);
  // NaN becomes 0, which a clip to 3 .. 9 does not keep out.
  e.expect(e.whole(e.clip(e.real(), 3, 9)), 0, 9);
  e.expect(e.whole(e.pool.make(Op::Max, {e.pool.make(Op::Min, {e.real(), e.f(4.5)}), e.f(-2.5)})),
           -2, 4);
}

TEST(IntervalOf, CastsOfFloatsSaturate) {
  Floats e;
  e.expect(e.whole(e.pool.cast(e.real(), DType::Int8)), INT8_MIN, INT8_MAX);
  e.expect_unknown(e.whole(e.real()));
  e.expect(e.whole(e.pool.cast(e.clip(e.real(), -1e9, 1e9), DType::Int16)), INT16_MIN, INT16_MAX);
}

TEST(IntervalOf, NarrowIntegersWrapWhereTheyMight) {
  Floats e;
  const ExprId narrow = e.pool.cast(e.clip(e.real(), 0, 100), DType::Int8);
  const ExprId more = e.pool.add(narrow, e.pool.constant_int(27, DType::Int8));
  e.expect(e.whole(more), 27, 127);
  const ExprId wraps = e.pool.add(narrow, e.pool.constant_int(28, DType::Int8));
  e.expect(e.whole(wraps), INT8_MIN, INT8_MAX);
}

TEST(IntervalOf, AComparisonSaysNothingOfAnotherExpression) {
  Floats e;
  const ExprId x = e.real(), y = e.pool.neg(x);
  const ExprId chosen = e.pool.select(e.make(Op::Lt, y, e.f(5)), e.f(1), x);
  e.expect_unknown(e.whole(chosen));
}

// A float32 rounds on its way from an integer.
TEST(IntervalOf, RoundingKeepsTheEnds) {
  Floats e;
  e.extents = {16777218};
  const ExprId axis = e.pool.cast(e.pool.axis(0), DType::Float32);
  e.expect(e.whole(axis), 0, 16777216);
}

}  // namespace
}  // namespace adjit::expr
