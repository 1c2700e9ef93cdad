// tests/runtime/domain/windows_test.cpp -- inequalities that leave one value.
#include "runtime/domain/windows.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"
#include "runtime/domain/equations.hpp"

namespace adjit::domain {
namespace {

FibreSystem solved(const IndexMap& map, std::vector<int64_t> target) {
  FibreSystem system(map.source, map.index, target);
  EXPECT_TRUE(solve_equations(system));
  EXPECT_TRUE(system.tidy_inequalities());
  return system;
}

// Non-overlapping pooling: 0 <= j - 3 i <= 2 leaves i = floor(j / 3).
TEST(Windows, StrideBeyondTheWindowFixesTheOutput) {
  IndexMap m({5}, {3});
  m.index = {3 * m[0] + m[1]};
  FibreSystem system = solved(m, {15});
  ASSERT_EQ(find_window(system), WindowSearch::Found);
  ASSERT_EQ(system.equalities.size(), 1u);
  ASSERT_TRUE(solve_equations(system));
  EXPECT_TRUE(system.free_columns().empty());
  EXPECT_EQ(system.parameters.divisions, (std::vector<Division>{{Affine::variable(0), 3}}));
}

TEST(Windows, OverlappingWindowsLeaveAFreeAxis) {
  IndexMap m({5}, {3});
  m.index = {2 * m[0] + m[1]};
  FibreSystem system = solved(m, {11});
  EXPECT_EQ(find_window(system), WindowSearch::None);
  EXPECT_EQ(find_projected_window(system), WindowSearch::None);
}

TEST(Windows, OppositeRowsThatExcludeEachOther) {
  IndexMap m({5}, {5});
  m.index = {m[0]};
  m.at_least_zero(m[1] - m[0] - 3);
  m.at_least_zero(m[0] - m[1] + 2);
  FibreSystem system(m.source, m.index, std::vector<int64_t>{5});
  ASSERT_TRUE(solve_equations(system) && system.tidy_inequalities());
  EXPECT_EQ(find_window(system), WindowSearch::Empty);
}

// (a * 4 + b) * 5 + c: no two opposite rows fix a, but those projected on a do.
TEST(Windows, ProjectionFindsWhatRowsHide) {
  IndexMap m({3, 4, 5}, {});
  m.index = {20 * m[0] + 5 * m[1] + m[2]};
  FibreSystem system = solved(m, {60});
  int found = 0;
  while (find_window(system) == WindowSearch::Found ||
         find_projected_window(system) == WindowSearch::Found) {
    ASSERT_TRUE(solve_equations(system) && system.tidy_inequalities());
    ASSERT_LT(++found, 10);
  }
  EXPECT_TRUE(system.free_columns().empty());
}

}  // namespace
}  // namespace adjit::domain
