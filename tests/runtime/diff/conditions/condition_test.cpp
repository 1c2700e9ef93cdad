// tests/runtime/diff/conditions/condition_test.cpp -- path conditions, and sums of what they guard.
#include "runtime/diff/conditions/condition.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

struct Literals {
  ExprPool pool;
  Conditions conditions{pool};

  ExprId number(int64_t value) { return pool.constant_int(value); }
  ExprId below(size_t axis, int64_t bound) {
    return pool.make(Op::Lt, {pool.axis(axis), number(bound)});
  }
};

TEST(Condition, TheEmptyConjunctionHasNoExpression) {
  Literals l;
  EXPECT_TRUE(ConditionId{}.always());
  EXPECT_FALSE(l.conditions.expr({}).valid());
  EXPECT_TRUE(l.conditions.refine({}, ExprId{}).always());
  EXPECT_TRUE(l.conditions.refine({}, l.pool.constant_int(1, DType::Bool)).always());
}

TEST(Condition, ALiteralThatIsKnownRefinesNothing) {
  Literals l;
  const ConditionId a = l.conditions.refine({}, l.below(0, 3));
  const ConditionId b = l.conditions.refine(a, l.below(1, 3));
  EXPECT_EQ(l.conditions.refine(b, l.below(0, 3)), b);
  EXPECT_EQ(l.conditions.refine(a, l.below(1, 3)), b) << "the same way gives the same node";
  EXPECT_NE(l.conditions.refine({}, l.below(1, 3)), b);
  EXPECT_EQ(l.conditions.expr(b), l.pool.logical_and(l.below(0, 3), l.below(1, 3)));
}

TEST(Condition, ChainsOfTenThousandLiteralsAreLinear) {
  Literals l;
  constexpr int64_t kDepth = 10'000;
  ConditionId at;
  for (int64_t k = 0; k < kDepth; ++k) {
    at = l.conditions.refine(at, l.below(0, k + 1));
    l.conditions.expr(at);
  }
  EXPECT_LE(l.pool.size(), 4 * kDepth);
  EXPECT_EQ(conjuncts(l.pool, l.conditions.expr(at)).size(), kDepth);
}

TEST(Condition, NegationOfANegationIsTheCondition) {
  Literals l;
  const ExprId a = l.below(0, 3);
  EXPECT_EQ(negation(l.pool, negation(l.pool, a)), a);
  EXPECT_NE(negation(l.pool, a), a);
}

TEST(Condition, AlwaysIsNeutralInAndAndAbsorbsInOr) {
  Literals l;
  const ExprId a = l.below(0, 3), always;
  EXPECT_EQ(adjit::diff::both(l.pool, a, always), a);
  EXPECT_EQ(adjit::diff::both(l.pool, always, a), a);
  EXPECT_FALSE(either(l.pool, a, always).valid());
  EXPECT_FALSE(either(l.pool, always, a).valid());
  EXPECT_EQ(either(l.pool, a, a), a);
  EXPECT_EQ(guard(l.pool, always, l.number(7)), l.number(7));
}

TEST(Condition, AlternativesThatLeaveNothingOutAreAlways) {
  Literals l;
  const ExprId a = l.below(0, 3), i = l.pool.axis(0), j = l.pool.axis(1);
  const ExprId less = l.pool.make(Op::Lt, {i, j}), more = l.pool.make(Op::Lt, {j, i});
  EXPECT_FALSE(either(l.pool, a, negation(l.pool, a)).valid());
  EXPECT_FALSE(either(l.pool, negation(l.pool, less), negation(l.pool, more)).valid())
      << "the two sides of a maximum";
  EXPECT_TRUE(either(l.pool, less, more).valid()) << "neither holds where they are equal";
}

TEST(Condition, ConjunctsComeInTheirOrderWithoutTrue) {
  Literals l;
  const ExprId a = l.below(0, 1), b = l.below(0, 2), c = l.below(0, 3);
  const ExprId whole = adjit::diff::both(l.pool, adjit::diff::both(l.pool, a, b), c);
  EXPECT_EQ(conjuncts(l.pool, whole), (std::vector<ExprId>{a, b, c}));
  EXPECT_TRUE(conjuncts(l.pool, ExprId{}).empty());
  EXPECT_TRUE(conjuncts(l.pool, l.pool.constant_int(1, DType::Bool)).empty());
}

TEST(Condition, SumsAreBalancedAndEqualNeighboursDouble) {
  ExprPool pool;
  const auto argument = [&](size_t k) { return pool.argument(k, DType::Float64); };
  EXPECT_FALSE(balanced_sum(pool, {}).valid());
  const ExprId one[] = {argument(0)};
  EXPECT_EQ(balanced_sum(pool, one), one[0]);
  const ExprId twice[] = {argument(0), argument(0), argument(1)};
  EXPECT_EQ(balanced_sum(pool, twice),
            pool.add(pool.mul(argument(0), pool.constant(2, DType::Float64)), argument(1)));
  std::vector<ExprId> many;
  for (size_t k = 0; k < 1000; ++k) many.push_back(argument(k));
  const ExprId roots[] = {balanced_sum(pool, many)};
  std::vector<size_t> depth(pool.size(), 0);
  for (ExprId id : reachable(pool, roots))
    for (ExprId operand : pool.operands(id))
      depth[id.value] = std::max(depth[id.value], depth[operand.value] + 1);
  EXPECT_EQ(depth[roots[0].value], 10u);
}

TEST(Condition, TheBranchesOfASelectRejoinWithoutACondition) {
  Literals l;
  const ExprId a = l.below(0, 3);
  const Guarded terms[] = {{l.conditions.refine({}, a), l.number(5)},
                           {l.conditions.refine({}, negation(l.pool, a)), l.number(7)}};
  const Guarded total = l.conditions.sum(terms);
  EXPECT_TRUE(total.condition.always());
  EXPECT_EQ(total.value, l.pool.select(a, l.number(5), l.number(7)));
}

// The value of a sum at every point is that of the terms whose conditions hold there.
TEST(Condition, SumsOfRandomTermsHaveTheirValuesWhereTheyHold) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    Literals l;
    std::vector<ConditionId> known{ConditionId{}};
    for (int k = 0; k < 6; ++k) {
      ExprId literal = l.below(static_cast<size_t>(draw(0, 1)), draw(1, 3));
      if (draw(0, 1)) literal = negation(l.pool, literal);
      const ConditionId parent = known[static_cast<size_t>(draw(0, std::ssize(known) - 1))];
      known.push_back(l.conditions.refine(parent, literal));
      if (draw(0, 1)) known.push_back(l.conditions.refine(parent, negation(l.pool, literal)));
    }
    std::vector<Guarded> terms;
    for (int64_t k = draw(1, 6); k > 0; --k)
      terms.push_back(
          {known[static_cast<size_t>(draw(0, std::ssize(known) - 1))],
           l.pool.add(l.pool.mul(l.pool.axis(0), l.number(draw(1, 9))), l.number(draw(1, 99)))});
    const auto value_of = [&](const Guarded& term, std::span<const int64_t> point) {
      const ExprId condition = l.conditions.expr(term.condition);
      if (condition.valid() && value_at(l.pool, condition, point) == 0) return int64_t{0};
      return value_at(l.pool, term.value, point);
    };
    const Guarded total = l.conditions.sum(terms);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t point[] = {i, j};
        int64_t expected = 0;
        for (const Guarded& term : terms) expected += value_of(term, point);
        ASSERT_EQ(value_of(total, point), expected) << "round " << round;
      }
  }
}

}  // namespace
}  // namespace adjit::testing
