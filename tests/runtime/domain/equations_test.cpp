// tests/runtime/domain/equations_test.cpp -- integer solutions of linear equations, brute-forced.
#include "runtime/domain/equations.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"

namespace adjit::domain {
namespace {

/// Solves index(axes) == j over boxes of the given extents.
FibreSystem system_of(const IndexMap& map, std::vector<int64_t> target) {
  return FibreSystem(map.source, map.index, target);
}

TEST(Equations, UnitPivotsKeepTheSmallAxis) {
  IndexMap m({100}, {3});
  m.index = {m[0] + m[1]};
  FibreSystem system = system_of(m, {102});
  ASSERT_TRUE(solve_equations(system));
  EXPECT_EQ(system.free_columns(), (std::vector<size_t>{1}));
  EXPECT_EQ(system.axes[0], Affine::variable(2) - Affine::variable(1));  // i = j - r
  EXPECT_TRUE(system.guards.empty());
}

TEST(Equations, CommonFactorsBecomeGuardsAndFloors) {
  IndexMap m({10}, {});
  m.index = {4 * m[0] + 1};
  FibreSystem system = system_of(m, {40});
  ASSERT_TRUE(solve_equations(system));
  EXPECT_TRUE(system.free_columns().empty());
  ASSERT_EQ(system.parameters.divisions.size(), 1u);
  EXPECT_EQ(system.parameters.divisions[0].divisor, 4);
  ASSERT_EQ(system.guards.size(), 1u);  // j + 3 == 4 * floor((j + 3) / 4)
  // At j = 9: i = 2.
  const Affine& i = system.axes[0];
  std::vector<int64_t> values{0, 9};
  values.push_back(
      floor_div(evaluate(system.parameters.divisions[0].numerator, std::vector<int64_t>{9}), 4));
  EXPECT_EQ(evaluate(i, values), 2);
  EXPECT_EQ(evaluate(system.guards[0], values), 0);
}

TEST(Equations, ParityContradictionsAreFound) {
  IndexMap m({10}, {10});
  m.index = {2 * m[0] + 4 * m[1]};
  m.zero(2 * m[0] - 4 * m[1] - 1);
  FibreSystem system = system_of(m, {40});
  EXPECT_FALSE(solve_equations(system));
}

TEST(Equations, ConstantIndexOutsideTheTarget) {
  IndexMap m({4}, {});
  m.index = {Affine(7)};
  FibreSystem outside = system_of(m, {5});
  EXPECT_FALSE(solve_equations(outside));
  FibreSystem inside = system_of(m, {9});
  EXPECT_TRUE(solve_equations(inside));
  EXPECT_EQ(inside.guards.size(), 1u);
}

// Every solution of 6 a + 10 b + 15 c == j is reached, and every point reached is a solution.
TEST(Equations, HermiteStepsKeepAllSolutions) {
  IndexMap m({7}, {7, 7});
  m.index = {6 * m[0] + 10 * m[1] + 15 * m[2]};
  FibreSystem system = system_of(m, {200});
  ASSERT_TRUE(solve_equations(system));
  const std::vector<size_t> free = system.free_columns();
  ASSERT_EQ(free.size(), 2u);
  const int64_t j = 97;
  std::vector<std::vector<int64_t>> reached;
  for (int64_t s = -60; s <= 60; ++s) {
    for (int64_t t = -60; t <= 60; ++t) {
      std::vector<int64_t> values(system.columns, 0);
      values[free[0]] = s;
      values[free[1]] = t;
      values.push_back(j);
      for (const Division& division : system.parameters.divisions)
        values.push_back(
            floor_div(evaluate(division.numerator, std::span(values).subspan(system.columns)),
                      division.divisor));
      std::vector<int64_t> point;
      for (const Affine& axis : system.axes) point.push_back(evaluate(axis, values));
      EXPECT_EQ(6 * point[0] + 10 * point[1] + 15 * point[2], j);
      bool inside = true;
      for (int64_t x : point) inside = inside && x >= 0 && x < 7;
      if (inside) reached.push_back(point);
    }
  }
  std::vector<std::vector<int64_t>> expected;
  for (int64_t a = 0; a < 7; ++a)
    for (int64_t b = 0; b < 7; ++b)
      for (int64_t c = 0; c < 7; ++c)
        if (6 * a + 10 * b + 15 * c == j) expected.push_back({a, b, c});
  std::sort(reached.begin(), reached.end());
  EXPECT_EQ(reached, expected);
}

}  // namespace
}  // namespace adjit::domain
