#include <gtest/gtest.h>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/interpret/evaluator.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::graph {
namespace {

using testing::Random;

// A random index expression over two axes.
ExprId random_index(ExprPool& pool, Random& random, int depth) {
  if (depth == 0)
    return random.chance(30) ? pool.constant_int(random.between(-5, 5))
                             : pool.axis(static_cast<size_t>(random.between(0, 1)));
  const auto inner = [&] { return random_index(pool, random, depth - 1); };
  const auto divisor = [&] { return pool.constant_int(random.between(1, 6)); };
  switch (random.between(0, 5)) {
    case 0: return pool.add(inner(), inner());
    case 1: return pool.sub(inner(), inner());
    case 2: return pool.mul(inner(), pool.constant_int(random.between(-3, 3)));
    case 3: return pool.make(Op::FloorDiv, {inner(), divisor()});
    case 4: return pool.make(Op::Mod, {inner(), divisor()});
    default: return pool.neg(inner());
  }
}

// The form equals the expression, and the expression of the form too, at every point.
TEST(AffineExpr, FormsAgreeWithTheExpressionEverywhere) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    Graph graph;
    Domain domain;
    domain.extents = {round % 2 == 0 ? 7 : 2, 5};
    domain.output_rank = 2;
    const ExprId expr = random_index(graph.pool, random, 3);
    const std::optional<Affine> form = as_affine(graph.pool, expr, domain);
    ASSERT_TRUE(form.has_value());
    const ExprId roots[] = {expr, to_expr(graph.pool, *form, domain)};
    PointEvaluator evaluator(graph, roots, {});
    for (int64_t i = 0; i < domain.extents[0]; ++i)
      for (int64_t j = 0; j < 5; ++j) {
        const int64_t point[] = {i, j};
        evaluator.move_to(point);
        ASSERT_EQ(evaluate(*form, domain.variables_at(point)), evaluator.value(0).i);
        ASSERT_EQ(evaluator.value(1).i, evaluator.value(0).i);
      }
  }
}

TEST(AffineExpr, WhatWrapsInTheBoxIsNotAffine) {
  constexpr int64_t kMost = INT64_MAX;
  ExprPool pool;
  const ExprId i = pool.axis(0), most = pool.constant_int(kMost);
  const ExprId wraps = pool.make(Op::Add, {i, most});
  const ExprId doubled = pool.make(Op::Mul, {i, pool.constant_int(kMost / 2)});
  Domain domain;
  domain.extents = {4};
  for (ExprId expr : {wraps, doubled, pool.make(Op::FloorDiv, {wraps, pool.constant_int(2)}),
                      pool.make(Op::Mod, {doubled, pool.constant_int(3)})})
    EXPECT_FALSE(as_affine(pool, expr, domain));
  EXPECT_TRUE(domain.divisions.empty());
  // What wraps back is exact, and so is what only reaches the end.
  EXPECT_TRUE(as_affine(pool, pool.make(Op::Sub, {wraps, most}), domain));
  EXPECT_TRUE(as_affine(pool, pool.make(Op::Sub, {most, i}), domain));
  domain.extents = {1};
  EXPECT_TRUE(as_affine(pool, wraps, domain));
}

TEST(AffineExpr, WhatIsNotAffineLeavesTheDomainAlone) {
  ExprPool pool;
  Domain domain;
  domain.extents = {7, 5};
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId division = pool.make(Op::FloorDiv, {i, pool.constant_int(2)});
  EXPECT_FALSE(as_affine(pool, pool.add(division, pool.mul(i, j)), domain));
  EXPECT_FALSE(as_affine(pool, pool.make(Op::FloorDiv, {i, j}), domain));
  EXPECT_FALSE(as_affine(pool, pool.make(Op::FloorDiv, {i, pool.constant_int(-2)}), domain));
  EXPECT_FALSE(as_affine(pool, pool.read(TensorId{0}, DType::Int64, std::span(&i, 1)), domain));
  EXPECT_FALSE(as_affine(pool, pool.axis(9), domain));
  EXPECT_TRUE(domain.divisions.empty());
}

TEST(AffineExpr, FloorsThatAreAffineOverTheirAxisAreNoDivisions) {
  ExprPool pool;
  Domain domain;
  domain.extents = {2, 14, 3};
  const auto floor_of = [&](ExprId numerator, int64_t divisor) {
    return *as_affine(pool, pool.make(Op::FloorDiv, {numerator, pool.constant_int(divisor)}),
                      domain);
  };
  const ExprId r = pool.axis(0), k = pool.axis(1), one = pool.constant_int(1);
  // (r + 2 k + 1) // 2 is k + r, 5 r // 2 is 2 r
  const ExprId sum = pool.add(pool.add(r, pool.mul(k, pool.constant_int(2))), one);
  EXPECT_EQ(floor_of(sum, 2), Affine::variable(0) + Affine::variable(1));
  EXPECT_EQ(floor_of(pool.mul(r, pool.constant_int(5)), 2), Affine::variable(0, 2));
  EXPECT_TRUE(domain.divisions.empty());
  // 0, 0, 1 is not; nor is one of more points than are tried.
  floor_of(pool.axis(2), 2);
  floor_of(pool.add(k, one), 2);
  EXPECT_EQ(domain.divisions.size(), 2U);
}

TEST(AffineExpr, DivisionsOfDivisionsAreOne) {
  ExprPool pool;
  Domain domain;
  domain.extents = {1000};
  const ExprId i = pool.axis(0);
  const auto floor = [&](ExprId numerator, int64_t divisor) {
    return pool.make(Op::FloorDiv, {numerator, pool.constant_int(divisor)});
  };
  const auto form = [&](ExprId expr) { return *as_affine(pool, expr, domain); };
  const Affine whole = form(floor(i, 20));
  EXPECT_EQ(form(floor(floor(i, 4), 5)), whole);
  EXPECT_EQ(form(floor(floor(floor(i, 2), 2), 5)), whole);
  // (i // 4 + 5) // 5 is (i + 20) // 20
  EXPECT_EQ(form(floor(pool.add(floor(i, 4), pool.constant_int(5)), 5)), whole + Affine(1));
  EXPECT_EQ(form(floor(pool.add(floor(i, 4), pool.constant_int(2)), 5)),
            form(floor(pool.add(i, pool.constant_int(8)), 20)));
}

// The address of an element of a reshaped tensor is where it was.
TEST(AffineExpr, ReshapedIndicesCancel) {
  ExprPool pool;
  Domain domain;
  domain.extents = {8, 25088};
  const auto number = [&](int64_t n) { return pool.constant_int(n); };
  const ExprId e = pool.add(pool.mul(pool.axis(0), number(25088)), pool.axis(1));
  const auto floor = [&](ExprId n, int64_t d) { return pool.make(Op::FloorDiv, {n, number(d)}); };
  const Affine channel = *as_affine(pool, floor(e, 3136), domain);
  const Affine row = *as_affine(pool, pool.make(Op::Mod, {floor(e, 56), number(56)}), domain);
  const Affine column = *as_affine(pool, pool.make(Op::Mod, {e, number(56)}), domain);
  EXPECT_EQ(channel * 3136 + row * 56 + column, Affine::variable(0, 25088) + Affine::variable(1));
  // And back: 64 channels of 56 x 56 in eight groups.
  Domain image;
  image.extents = {64, 56, 56};
  const ExprId at =
      pool.add(pool.add(pool.mul(pool.axis(0), number(3136)), pool.mul(pool.axis(1), number(56))),
               pool.axis(2));
  const Affine group = *as_affine(pool, floor(at, 25088), image);
  ASSERT_EQ(image.divisions.size(), 1U);
  EXPECT_EQ(image.divisions[0], (Division{Affine::variable(0), 8}));
  EXPECT_EQ(group, Affine::variable(3));
}

TEST(AffineExpr, DivisionsThatCannotVaryVanish) {
  ExprPool pool;
  Domain domain;
  domain.extents = {4};
  const ExprId i = pool.axis(0);
  EXPECT_EQ(as_affine(pool, pool.make(Op::Mod, {i, pool.constant_int(4)}), domain),
            Affine::variable(0));
  EXPECT_EQ(as_affine(pool,
                      pool.make(Op::FloorDiv,
                                {pool.add(pool.mul(i, pool.constant_int(6)), pool.constant_int(1)),
                                 pool.constant_int(3)}),
                      domain),
            Affine::variable(0, 2));
  EXPECT_TRUE(domain.divisions.empty());
}

}  // namespace
}  // namespace adjit::graph
