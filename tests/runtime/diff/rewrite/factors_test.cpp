// tests/runtime/diff/rewrite/factors_test.cpp -- products taken apart and put together.
#include "runtime/diff/rewrite/factors.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/scalars.hpp"

namespace adjit::testing {
namespace {

TEST(Factors, AxesPast62ShareTheLastBit) {
  ExprPool pool;
  EXPECT_EQ(axes_used(pool, pool.constant_int(3)), 0u);
  const ExprId sum = pool.add(pool.axis(1), pool.add(pool.axis(62), pool.axis(200)));
  EXPECT_EQ(axes_used(pool, sum), bit(1) | bit(62) | bit(63));
}

TEST(Factors, ProductsQuotientsAndSignsComeApart) {
  Scalars s(4);
  ExprPool& pool = s.pool();
  // -(x0 * x1) * (x2 / x3)
  const ExprId body = pool.mul(pool.neg(pool.mul(s.x[0], s.x[1])), pool.div(s.x[2], s.x[3]));
  const Product product = factors_of(pool, body);
  EXPECT_TRUE(product.negative);
  ASSERT_EQ(product.factors.size(), 4u);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(product.factors[k].expr, s.x[k]) << "in the order they stand";
    EXPECT_EQ(product.factors[k].inverse, k == 3);
  }
  const double whole = s.at(product_of(pool, product, DType::Float64), {2, 3, 5, 4});
  EXPECT_EQ(whole, -7.5);
}

TEST(Factors, OneIsNoFactor) {
  Scalars s(1);
  const Product inverse = factors_of(s.pool(), s.pool().div(s.number(1), s.x[0]));
  ASSERT_EQ(inverse.factors.size(), 1u);
  EXPECT_TRUE(inverse.factors[0].inverse);
  EXPECT_EQ(s.at(product_of(s.pool(), inverse, DType::Float64), {4}), 0.25);
  EXPECT_EQ(s.at(product_of(s.pool(), Product{}, DType::Float64), {4}), 1);
}

TEST(Factors, IntegersStayWhole) {
  ExprPool pool;
  const ExprId body = pool.mul(pool.axis(0), pool.axis(1));
  const Product product = factors_of(pool, body);
  ASSERT_EQ(product.factors.size(), 1u);
  EXPECT_EQ(product.factors[0].expr, body);
}

// (a / b) / c comes apart; the b / c in a / (b / c) stays one factor, so that nothing is divided
// twice.
TEST(Factors, QuotientsInDenominatorsStayWhole) {
  Scalars s(3);
  ExprPool& pool = s.pool();
  const ExprId chain = pool.div(pool.div(s.x[0], s.x[1]), s.x[2]);
  EXPECT_EQ(factors_of(pool, chain).factors.size(), 3u);
  const ExprId nested = pool.div(s.x[0], pool.div(s.x[1], s.x[2]));
  const Product product = factors_of(pool, nested);
  ASSERT_EQ(product.factors.size(), 2u);
  EXPECT_EQ(s.at(product_of(pool, product, DType::Float64), {6, 3, 4}), 8);
}

TEST(Factors, AtMostThirtyTwoAreTakenApart) {
  Scalars s(40);
  ExprId body = s.x[0];
  for (size_t k = 1; k < s.x.size(); ++k) body = s.pool().mul(body, s.x[k]);
  const Product product = factors_of(s.pool(), body);
  EXPECT_LE(product.factors.size(), 33u);
  EXPECT_GE(product.factors.size(), 32u);
  std::vector<double> values(40, 1);
  values[0] = 2, values[20] = 3, values[39] = 5;
  EXPECT_EQ(s.at(product_of(s.pool(), product, DType::Float64), values), 30);
}

TEST(Factors, AFactorOfEveryTermLeavesTheSum) {
  Scalars s(4);
  ExprPool& pool = s.pool();
  const ExprId body = pool.add(pool.mul(s.x[0], s.x[1]), pool.mul(s.x[2], s.x[0]));
  const ExprId taken = common_factor_out(pool, body);
  EXPECT_EQ(taken, pool.mul(pool.add(s.x[1], s.x[2]), s.x[0]));
  const ExprId square =
      pool.add(pool.mul(s.x[0], s.x[0]), pool.mul(pool.mul(s.x[0], s.x[0]), s.x[1]));
  EXPECT_EQ(s.at(common_factor_out(pool, square), {3, 4, 0, 0}), 45)
      << "twice where all have it twice";
  const ExprId once = pool.add(pool.mul(s.x[0], s.x[0]), pool.mul(s.x[0], s.x[1]));
  EXPECT_EQ(s.at(common_factor_out(pool, once), {3, 4, 0, 0}), 21);
}

TEST(Factors, SumsWithoutACommonFactorStay) {
  Scalars s(4);
  ExprPool& pool = s.pool();
  const std::vector<ExprId> bodies{
      s.x[0],
      pool.mul(s.x[0], s.x[1]),
      pool.add(pool.mul(s.x[0], s.x[1]), pool.mul(s.x[2], s.x[3])),
      pool.add(pool.mul(s.x[0], s.x[1]), pool.div(s.x[2], s.x[0])),
      pool.add(pool.mul(s.number(3), s.x[1]), pool.mul(s.number(3), s.x[2])),
      pool.sub(pool.mul(s.x[0], s.x[1]), pool.mul(s.x[0], s.x[2])),
  };
  for (ExprId body : bodies) EXPECT_EQ(common_factor_out(pool, body), body);
}

TEST(Factors, SumsOfManyTermsStay) {
  Scalars s(18);
  const auto sum = [&](size_t terms) {
    ExprId body = s.pool().mul(s.x[0], s.x[1]);
    for (size_t k = 2; k <= terms; ++k) body = s.pool().add(body, s.pool().mul(s.x[0], s.x[k]));
    return body;
  };
  EXPECT_NE(common_factor_out(s.pool(), sum(16)), sum(16));
  EXPECT_EQ(common_factor_out(s.pool(), sum(17)), sum(17));
}

}  // namespace
}  // namespace adjit::testing
