// tests/runtime/domain/fibre_patterns_test.cpp -- every pattern against brute force, and how long
// fibres take.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "runtime/domain/count.hpp"
#include "runtime/domain/waste.hpp"
#include "visit.hpp"

namespace adjit::domain {
namespace {

class EachPattern : public testing::TestWithParam<size_t> {};

/// Each (i, r) exactly once, nothing else, no idle iteration.
void expect_exact(const Pattern& pattern) {
  SCOPED_TRACE(pattern.name);
  std::vector<Visit> expected, visited;
  NestRun run;
  std::string text;
  for (const IndexMap& map : pattern.maps) {
    const std::vector<Visit> more = brute_force(map.source, map.index, pattern.target);
    expected.insert(expected.end(), more.begin(), more.end());
    const auto pieces = fibre(map.source, map.index, pattern.target);
    ASSERT_TRUE(pieces.has_value());
    for (const FibrePiece& piece : *pieces) text += to_text(piece) + "\n";
    const std::vector<Visit> seen = visits_of(*pieces, pattern.target, run);
    visited.insert(visited.end(), seen.begin(), seen.end());
  }
  std::sort(expected.begin(), expected.end());
  std::sort(visited.begin(), visited.end());
  EXPECT_EQ(visited, expected) << text;
  EXPECT_EQ(run.points, static_cast<int64_t>(expected.size())) << text;
  EXPECT_LE(static_cast<double>(run.empty_outer),
            pattern.allowed_waste * static_cast<double>(run.points))
      << text;
}

TEST_P(EachPattern, VisitsEachPointOnce) {
  expect_exact(all_patterns(Size::Small)[GetParam()]);
  expect_exact(all_patterns(Size::Medium)[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Fibre, EachPattern,
                         testing::Range(size_t{0}, all_patterns(Size::Small).size()),
                         [](const testing::TestParamInfo<size_t>& one) {
                           return all_patterns(Size::Small)[one.param].name;
                         });

/// Points of the source that reach the target: its rows and those of the index, counted exactly.
std::optional<int64_t> reaching(const IndexMap& map, std::span<const int64_t> target) {
  Domain domain = map.source;
  for (size_t k = 0; k < map.index.size(); ++k) {
    domain.inequalities.push_back(map.index[k]);
    domain.inequalities.push_back(target[k] - 1 - map.index[k]);
  }
  return count_points(domain, 5'000'000);
}

/// Points of the pieces, and the idle iterations of their loops per point.
struct Trips {
  int64_t points = 0;
  double idle = 0;
};

Trips trips_of(std::vector<FibrePiece>& pieces) {
  Trips trips;
  for (FibrePiece& piece : pieces) {
    const std::optional<int64_t> points = count_points(piece.domain, 5'000'000);
    EXPECT_TRUE(points.has_value()) << to_text(piece);
    trips.points += points.value_or(0);
    trips.idle = std::max(trips.idle, measure_waste(piece, 0));
  }
  return trips;
}

/// The least of a few runs, in milliseconds of this thread.
double time_of_fibre(const IndexMap& map, const Pattern& pattern) {
  double best = 1e9;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const double start = cpu_milliseconds();
    (void)fibre(map.source, map.index, pattern.target);
    best = std::min(best, cpu_milliseconds() - start);
  }
  return best;
}

// At sizes of real programs: as many points as reach the target, no idle iterations on a sample of
// j. How long it takes is printed, not asserted.
TEST(FibrePatterns, LargeSizesCountAndTime) {
  std::vector<std::pair<double, std::string>> times;
  double most_idle = 0;
  for (const Pattern& pattern : all_patterns(Size::Large)) {
    SCOPED_TRACE(pattern.name);
    for (const IndexMap& map : pattern.maps) {
      auto pieces = fibre(map.source, map.index, pattern.target);
      ASSERT_TRUE(pieces.has_value());
      const Trips trips = trips_of(*pieces);
      const std::optional<int64_t> expected = reaching(map, pattern.target);
      ASSERT_TRUE(expected.has_value());
      EXPECT_EQ(trips.points, *expected);
      EXPECT_LE(trips.idle, pattern.allowed_waste);
      most_idle = std::max(most_idle, trips.idle);
      times.emplace_back(time_of_fibre(map, pattern), pattern.name);
    }
  }
  std::sort(times.begin(), times.end());
  std::cout << "fibre time over " << times.size() << " maps: median "
            << times[times.size() / 2].first << " ms, max " << times.back().first << " ms ("
            << times.back().second << "); most idle iterations a point " << most_idle << "\n";
}

}  // namespace
}  // namespace adjit::domain
