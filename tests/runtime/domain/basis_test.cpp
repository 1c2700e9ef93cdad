// tests/runtime/domain/basis_test.cpp -- free axes of fibres: one value for each point, few idle.
#include "runtime/domain/basis.hpp"

#include <gtest/gtest.h>

#include "random_read.hpp"
#include "solved_system.hpp"

namespace adjit::domain {
namespace {

FibreSystem based(const IndexMap& m, std::vector<int64_t> target, const BasisChoice& choice = {}) {
  FibreSystem system = *solved_system(m.source, m.index, target);
  choose_basis(system, m.source, choice);
  return system;
}

TEST(Basis, AConvolutionRunsAlongItsKernel) {
  IndexMap m({9}, {3});
  m.index = {m[0] + m[1]};
  const FibreSystem system = based(m, {11});
  ASSERT_EQ(system.free_columns().size(), 1u);
  const size_t t = system.free_columns()[0];
  EXPECT_EQ(system.home[t], 1u);
  EXPECT_EQ(system.axes[1], Affine::variable(t)) << "the axis itself, unshifted";
  EXPECT_EQ(system.ranges[t].lo, 0);
  EXPECT_EQ(system.ranges[t].hi, 2);
}

// 2 i + k == j: of the kernel's three places every second one is met.
TEST(Basis, AStrideLeavesAQuotientOfTheWindow) {
  IndexMap m({4}, {3});
  m.index = {2 * m[0] + m[1]};
  const FibreSystem system = based(m, {9});
  ASSERT_EQ(system.free_columns().size(), 1u);
  const size_t t = system.free_columns()[0];
  EXPECT_EQ(system.ranges[t].size(), 2);
  EXPECT_EQ(system.axes[1].coefficient(t), 2);
}

TEST(Basis, OfAPreferredAxisThatAxisSurvives) {
  IndexMap m({9}, {3});
  m.index = {m[0] + m[1]};
  const FibreSystem system = based(m, {11}, {{0, 1}, false});
  ASSERT_EQ(system.free_columns().size(), 1u);
  EXPECT_EQ(system.home[system.free_columns()[0]], 0u);
}

TEST(Basis, ColumnsOfDivisionsAloneAreNoFreeAxes) {
  IndexMap m({6}, {6});
  m.index = {m[0]};
  m.at_least_zero(m[1] - 2 * m.floor(m[1], 2));  // always
  const FibreSystem system = based(m, {6});
  EXPECT_EQ(system.free_columns().size(), 1u);
}

// For every j, the free columns in their ranges give each point of the fibre once and no other.
void expect_one_to_one(const Pattern& pattern, const BasisChoice& choice, int64_t& checked) {
  SCOPED_TRACE(pattern.name);
  constexpr int64_t kMost = 20'000, kCells = 64;
  for (const IndexMap& map : pattern.maps) {
    std::optional<FibreSystem> system = solved_system(map.source, map.index, pattern.target);
    std::vector<Visit> expected = brute_force(map.source, map.index, pattern.target);
    if (!system) {
      EXPECT_TRUE(expected.empty());
      continue;
    }
    choose_basis(*system, map.source, choice);
    if (assignments(*system) * std::min(kCells, target_cells(pattern)) > kMost * 10) continue;
    int64_t cells = 0;
    size_t at = 0;
    for_each_point(pattern.target, [&](const Point& j) {
      std::vector<Point> wanted;
      for (; at < expected.size() && expected[at].first == j; ++at)
        wanted.push_back(expected[at].second);
      if (++cells > kCells) return;
      ASSERT_EQ(source_points(*system, j), wanted);
      ++checked;
    });
  }
}

TEST(Basis, EveryPatternIsCoveredOneToOne) {
  int64_t checked = 0;
  for (const Pattern& pattern : all_patterns(Size::Small))
    for (const bool division_windows : {false, true})
      expect_one_to_one(pattern, {{}, division_windows}, checked);
  EXPECT_GT(checked, 1000);
}

TEST(Basis, RandomReadsAreCoveredOneToOne) {
  int64_t checked = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Pattern pattern = RandomRead(seed).generate();
    try {
      expect_one_to_one(pattern, {}, checked);
    } catch (const Overflow&) {
      continue;
    }
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace adjit::domain
