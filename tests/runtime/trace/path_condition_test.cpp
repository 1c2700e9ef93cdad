// tests/runtime/trace/path_condition_test.cpp -- under which conditions nodes are needed.
#include "runtime/trace/path_condition.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

struct Paths {
  ExprPool pool;
  ExprId zero = pool.constant(0, DType::Float64);

  ExprId x(size_t k) { return pool.argument(k, DType::Float64); }
  ExprId below(int64_t bound) {
    return pool.make(Op::Lt, {pool.axis(0), pool.constant_int(bound)});
  }
  trace::PathConditions run(const std::vector<std::pair<ExprId, trace::PathCondition>>& roots,
                            trace::PathConditions::Expand expand = {}) {
    if (!expand) expand = [](ExprId) { return std::vector<trace::PathConditions::Inner>{}; };
    trace::PathConditions conditions(pool, expand);
    for (const auto& [root, condition] : roots) conditions.add_root(root, condition);
    conditions.run();
    return conditions;
  }
};
using trace::PathCondition;

TEST(PathConditionSweep, BranchesAreNeededUnderTheConditionAndItsNegation) {
  Paths p;
  const ExprId test = p.below(3), root = p.pool.select(test, p.x(0), p.x(1));
  const auto found = p.run({{root, {}}});
  EXPECT_TRUE(found.of(root).empty());
  EXPECT_TRUE(found.of(test).empty());
  EXPECT_EQ(found.of(p.x(0)), PathCondition{test});
  const ExprId opposite = p.pool.make(Op::Le, {p.pool.constant_int(3), p.pool.axis(0)});
  EXPECT_EQ(found.of(p.x(1)), PathCondition{opposite}) << "the negation of integers is exact";
}

TEST(PathConditionSweep, WhatBothBranchesNeedIsNeededAlways) {
  Paths p;
  const ExprId test = p.below(3);
  const ExprId root = p.pool.select(test, p.pool.mul(p.x(0), p.x(1)), p.pool.add(p.x(0), p.x(2)));
  const auto found = p.run({{root, {}}});
  EXPECT_TRUE(found.of(p.x(0)).empty());
  EXPECT_EQ(found.of(p.x(1)), PathCondition{test});
}

TEST(PathConditionSweep, SecondOperandsOfLogicAreNeededWhereTheFirstDoesNotDecide) {
  Paths p;
  const ExprId a = p.below(3), b = p.pool.make(Op::Lt, {p.x(0), p.zero});
  const auto both_needed = p.run({{p.pool.logical_and(a, b), {}}});
  EXPECT_EQ(both_needed.of(p.x(0)), PathCondition{a});
  const auto either_needed = p.run({{p.pool.make(Op::Or, {a, b}), {}}});
  EXPECT_EQ(either_needed.of(p.x(0)),
            PathCondition{p.pool.make(Op::Le, {p.pool.constant_int(3), p.pool.axis(0)})});
}

TEST(PathConditionSweep, RootsBringTheirConditionsAndTwoOfThemWiden) {
  Paths p;
  const ExprId a = p.below(2), b = p.below(5);
  const auto one = p.run({{p.x(0), {a}}});
  EXPECT_EQ(one.of(p.x(0)), PathCondition{a});
  EXPECT_FALSE(one.reached(p.x(1)));
  const auto two = p.run({{p.x(0), {a}}, {p.x(0), {b}}});
  EXPECT_EQ(two.of(p.x(0)), PathCondition{p.pool.make(Op::Or, {a, b})});
}

TEST(PathConditionSweep, InnerOperandsOfALeafFollow) {
  Paths p;
  const ExprId inner = p.x(0), leaf = p.x(1), test = p.below(3);
  const ExprId root = p.pool.select(test, leaf, p.zero);
  const auto found = p.run({{root, {}}}, [&](ExprId node) {
    std::vector<trace::PathConditions::Inner> made;
    if (node == leaf) made.push_back({inner, [](const PathCondition& of) { return of; }});
    return made;
  });
  EXPECT_EQ(found.of(inner), PathCondition{test});
  const std::vector<ExprId> nodes = found.nodes();
  EXPECT_TRUE(std::ranges::is_sorted(nodes));
  EXPECT_NE(std::ranges::find(nodes, inner), nodes.end());
}

TEST(PathConditionSweep, ConjunctionsAndAlternatives) {
  Paths p;
  PathCondition a{p.below(1), p.below(2)}, b{p.below(2), p.below(3)};
  std::ranges::sort(a);
  std::ranges::sort(b);
  EXPECT_EQ(trace::both(a, b).size(), 3u);
  const PathCondition any = trace::either(p.pool, a, b);
  ASSERT_EQ(any.size(), 2u);
  EXPECT_NE(std::ranges::find(any, p.below(2)), any.end()) << "the common factor";
  EXPECT_TRUE(trace::either(p.pool, a, {}).empty());
  EXPECT_EQ(trace::either(p.pool, a, a), a);
}

TEST(PathConditionSweep, DeepTowersAreBounded) {
  Paths p;
  ExprId root = p.x(0);
  for (int64_t k = 0; k < 3000; ++k) root = p.pool.select(p.below(k), root, p.zero);
  const auto found = p.run({{root, {}}});
  EXPECT_LE(found.of(p.x(0)).size(), 257u) << "weaker is sound, longer would be quadratic";
}

}  // namespace
}  // namespace adjit::testing
