// tests/runtime/domain/inequalities_test.cpp -- elimination: exactness, contradictions, the cap.
#include "runtime/domain/inequalities.hpp"

#include <gtest/gtest.h>

namespace adjit::domain {
namespace {

TEST(Inequalities, SimplifyTightensAndDropsWeakerParallels) {
  Rows rows{{2, 4, 3}, {1, 2, 5}, {0, 0, 7}};  // 2x + 4y + 3 >= 0 is x + 2y + 1 >= 0
  ASSERT_TRUE(simplify(rows));
  EXPECT_EQ(rows, (Rows{{1, 2, 1}}));
  Rows never{{0, 0, -1}};
  EXPECT_FALSE(simplify(never));
}

TEST(Inequalities, EliminationSaysWhetherItIsExact) {
  // 3x <= y <= 3x + 2 for some x: every y.
  Rows every{{-3, 1, 0}, {3, -1, 2}};
  EXPECT_EQ(eliminate(every, 0), Elimination::Exact);
  EXPECT_TRUE(every.empty());
  // 3x == y for some x: not every y, but all that Fourier-Motzkin can say.
  Rows multiples{{-3, 1, 0}, {3, -1, 0}};
  EXPECT_EQ(eliminate(multiples, 0), Elimination::Inexact);
  // 2x <= y, x >= z: a unit coefficient is always exact.
  Rows unit{{-2, 1, 0, 0}, {1, 0, -1, 0}};
  EXPECT_EQ(eliminate(unit, 0), Elimination::Exact);
  EXPECT_EQ(unit, (Rows{{0, 1, -2, 0}}));
}

TEST(Inequalities, EliminationIsCapped) {
  Rows rows;
  for (int64_t k = 1; k <= 10; ++k) {
    rows.push_back({1, k, 0});
    rows.push_back({-1, k * k, 3});
  }
  const Rows before = rows;
  EXPECT_EQ(eliminate(rows, 0, 50), Elimination::OverBudget);
  EXPECT_EQ(rows, before);
}

TEST(Inequalities, EmptinessUsesIntegerTightening) {
  EXPECT_TRUE(contradictory({{2, -1}, {-2, 1}}));         // 2x == 1
  EXPECT_TRUE(contradictory({{1, 0, -3}, {-1, 0, 2}}));   // 3 <= x <= 2
  EXPECT_FALSE(contradictory({{1, -1, 0}, {-1, 1, 0}}));  // x == y
  EXPECT_FALSE(contradictory({}));
}

TEST(Inequalities, ImpliedOnlyThroughConnectedRows) {
  const Rows rows{{1, -1, 0, 0}, {0, 1, 0, -2}, {0, 0, 1, 0}};  // x >= y, y >= 2, z >= 0
  EXPECT_TRUE(implied(rows, {1, 0, 0, -2}));
  EXPECT_FALSE(implied(rows, {1, 0, 0, -3}));
  EXPECT_EQ(component(rows, {1, 0, 0, 0}, 3).size(), 2u);
}

TEST(Inequalities, OverflowIsNotProven) {
  const int64_t huge = INT64_MAX / 2;
  EXPECT_FALSE(contradictory({{huge, huge - 1, 0, 0}, {-huge + 1, 0, huge, 0}, {0, -3, 5, -1}}));
  EXPECT_FALSE(implied({{huge, -3, 0}, {5, huge - 2, 1}}, {-7, huge - 6, 0}));
}

TEST(Inequalities, NarrowedInterval) {
  // 0 <= x, x + y <= 10, y >= 4: x + 1 in [1, 7]
  const Rows rows{{1, 0, 0}, {-1, -1, 10}, {0, 1, -4}};
  EXPECT_EQ(narrowed_interval(rows, Affine::variable(0), {-100, 100}), (Interval{0, 6}));
  EXPECT_EQ(narrowed_interval(rows, Affine::variable(0, 1, 1), {-100, 100}), (Interval{1, 7}));
  EXPECT_TRUE(narrowed_interval({{1, -5}, {-1, 4}}, Affine::variable(0), {0, 9}).empty());
}

}  // namespace
}  // namespace adjit::domain
