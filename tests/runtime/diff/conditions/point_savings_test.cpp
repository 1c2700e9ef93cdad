// tests/runtime/diff/conditions/point_savings_test.cpp -- proofs about domains, against
// enumeration.
#include "runtime/diff/conditions/point_savings.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/domain/count.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Domain square(std::vector<Affine> rows, int64_t n = 8) {
  Domain domain;
  domain.extents = {n, n};
  domain.output_rank = 1;
  domain.inequalities = std::move(rows);
  return domain;
}

Affine form(int64_t i, int64_t r, int64_t constant) {
  return Affine::variable(0, i) + Affine::variable(1, r) + Affine(constant);
}

TEST(SavedPoints, ClearlyFewer) {
  EXPECT_TRUE(saves_points(square({}), square({form(1, -1, 0)})));
  EXPECT_FALSE(saves_points(square({}), square({form(1, -1, 5)})));
  EXPECT_FALSE(saves_points(square({}, 0), square({form(1, -1, 0)}, 0)));
}

// A proof is never wrong, and there is one for the triangles and bands that masks are.
TEST(SavedPoints, EveryResultHasTerms) {
  EXPECT_TRUE(always_has_terms(square({})));
  EXPECT_TRUE(always_has_terms(square({form(1, -1, 0)})));
  EXPECT_TRUE(always_has_terms(square({form(-1, 1, 0)})));
  EXPECT_TRUE(always_has_terms(square({form(1, -1, 0), form(-1, 1, 3)})));
  EXPECT_TRUE(always_has_terms(square({form(1, -1, 2), form(-1, 1, 3)}))) << "both neighbours";
  EXPECT_FALSE(always_has_terms(square({form(1, -1, -1)})));
  std::mt19937 random(3);
  const auto number = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  int proven = 0;
  for (int draw = 0; draw < 400; ++draw) {
    std::vector<Affine> rows;
    for (int64_t k = number(1, 3); k > 0; --k)
      rows.push_back(form(number(-1, 1), number(-2, 2), number(-4, 8)));
    const Domain domain = square(rows);
    if (!always_has_terms(domain)) continue;
    ++proven;
    for (int64_t i = 0; i < 8; ++i) {
      bool any = false;
      for (int64_t r = 0; r < 8; ++r) any = any || domain.contains(std::vector<int64_t>{i, r});
      EXPECT_TRUE(any) << i;
    }
  }
  EXPECT_GT(proven, 20);
}

TEST(SavedPoints, ConditionsThatADomainDecides) {
  ExprPool pool;
  const Domain below = square({form(1, -1, 0)});  // r <= i
  const auto asked = [&](Op op, ExprId a, ExprId b) {
    return decided(pool, pool.make(op, {a, b}), below);
  };
  const ExprId i = pool.axis(0), r = pool.axis(1), one = pool.constant_int(1);
  EXPECT_EQ(asked(Op::Le, r, i), Decided::True);
  EXPECT_EQ(asked(Op::Lt, i, r), Decided::False);
  EXPECT_EQ(asked(Op::Lt, r, i), Decided::Open);
  EXPECT_EQ(asked(Op::Le, r, pool.add(i, one)), Decided::True);
  EXPECT_EQ(asked(Op::Eq, r, pool.add(i, one)), Decided::False);
  const ExprId both = pool.logical_and(pool.make(Op::Le, {r, i}), pool.make(Op::Lt, {i, one}));
  EXPECT_EQ(decided(pool, both, below), Decided::Open);
}

}  // namespace
}  // namespace adjit::testing
