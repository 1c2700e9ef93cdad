// tests/runtime/diff/rewrite/linear_form_test.cpp -- expressions as sums of products.
#include "runtime/diff/rewrite/linear_form.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace adjit::diff {
namespace {

struct LinearExpressions {
  ExprPool pool;
  ExprId a = read(0), b = read(1);               // the elements
  ExprId f = read(2), g = read(3), h = read(4);  // the others

  ExprId read(uint32_t tensor) { return pool.read(TensorId{tensor}, DType::Float32, {}); }
  std::optional<std::vector<LinearTerm>> form(ExprId root, size_t most = 16) {
    return linear_form(pool, root, [&](ExprId id) { return id == a || id == b; }, most);
  }
};

void expect_term(const LinearTerm& term, bool negative, std::vector<ExprId> factors,
                 ExprId element) {
  EXPECT_EQ(term.negative, negative);
  EXPECT_EQ(term.factors, factors);
  EXPECT_EQ(term.element, element);
}

TEST(LinearForm, TakesSumsAndProductsApart) {
  LinearExpressions e;
  const ExprId inner = e.pool.sub(e.pool.mul(e.f, e.a), e.pool.mul(e.b, e.g));
  const auto terms = e.form(e.pool.add(e.pool.mul(e.h, inner), e.f));
  ASSERT_TRUE(terms && terms->size() == 3);
  expect_term((*terms)[0], false, {e.h, e.f}, e.a);
  expect_term((*terms)[1], true, {e.h, e.g}, e.b);
  expect_term((*terms)[2], false, {e.f}, {});
}

TEST(LinearForm, TakesFusedMultiplyAddsAndProductsOfFactorsApart) {
  LinearExpressions e;
  const ExprId weight = e.pool.mul(e.pool.mul(e.f, e.g), e.h);
  const auto terms = e.form(e.pool.make(Op::Fma, {weight, e.a, e.pool.neg(e.b)}));
  ASSERT_TRUE(terms && terms->size() == 2);
  expect_term((*terms)[0], false, {e.f, e.g, e.h}, e.a);
  expect_term((*terms)[1], true, {}, e.b);
}

TEST(LinearForm, WhatIsNotLinearIsATermWithoutElement) {
  LinearExpressions e;
  const ExprId square = e.pool.mul(e.a, e.b);
  const ExprId wave = e.pool.make(Op::Sin, {e.a});
  const auto terms = e.form(e.pool.add(square, wave));
  ASSERT_TRUE(terms && terms->size() == 2);
  expect_term((*terms)[0], false, {e.a, e.b}, {});
  expect_term((*terms)[1], false, {wave}, {});
}

TEST(LinearForm, GivesUpBeyondTheMostTerms) {
  LinearExpressions e;
  ExprId sum = e.a;
  for (int k = 0; k < 8; ++k) sum = e.pool.add(e.pool.mul(sum, e.f), e.pool.mul(sum, e.g));
  EXPECT_FALSE(e.form(sum));
  EXPECT_TRUE(e.form(sum, 1 << 9));
}

TEST(WeighedEnds, InterpolationsHaveAWeightForEachEnd) {
  ExprPool pool;
  const auto leaf = [&](uint32_t k) {
    const ExprId at = pool.axis(0);
    return pool.read(TensorId{k}, DType::Float64, std::span(&at, 1));
  };
  const ExprId a = leaf(0), b = leaf(1), f = leaf(2), one = pool.constant(1, DType::Float64);
  const ExprId wanted = pool.add(pool.mul(pool.sub(one, f), a), pool.mul(f, b));
  const ExprId forwards = pool.sub(b, a), backwards = pool.sub(a, b);
  EXPECT_EQ(with_weighed_ends(pool, pool.add(a, pool.mul(f, forwards))), wanted);
  EXPECT_EQ(with_weighed_ends(pool, pool.add(pool.mul(forwards, f), a)), wanted);
  EXPECT_EQ(with_weighed_ends(pool, pool.sub(a, pool.mul(f, backwards))), wanted);
  EXPECT_EQ(with_weighed_ends(pool, pool.neg(pool.add(a, pool.mul(f, forwards)))),
            pool.neg(wanted));
  for (const ExprId other : {pool.sub(a, pool.mul(f, forwards)), pool.sub(pool.mul(f, forwards), a),
                             pool.add(b, pool.mul(f, forwards)), pool.add(a, pool.mul(f, b))})
    EXPECT_EQ(with_weighed_ends(pool, other), other);
}

}  // namespace
}  // namespace adjit::diff
