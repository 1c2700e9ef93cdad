// tests/runtime/domain/piece_test.cpp -- solved systems as domains: tight and without rows that
// others imply.
#include "runtime/domain/piece.hpp"

#include <gtest/gtest.h>

#include <set>

#include "random_read.hpp"
#include "runtime/domain/basis.hpp"
#include "solved_system.hpp"

namespace adjit::domain {
namespace {

std::optional<FibrePiece> piece_of(const IndexMap& m, const std::vector<int64_t>& target) {
  std::optional<FibreSystem> system = solved_system(m.source, m.index, target);
  if (!system) return std::nullopt;
  choose_basis(*system, m.source, {});
  return make_piece(*system);
}

TEST(Piece, FreeAxesStandInTheOrderOfTheirHomes) {
  IndexMap m({4}, {6, 5, 3});
  m.index = {m[0]};
  EXPECT_EQ(to_text(*piece_of(m, {4})), "axes j0:4 | t0:6 t1:5 t2:3; source (j0, t0, t1, t2)");
}

TEST(Piece, AxesOfOneValueVanish) {
  IndexMap m({4}, {1, 5});
  m.index = {m[0]};
  EXPECT_EQ(to_text(*piece_of(m, {4})), "axes j0:4 | t0:5; source (j0, 0, t0)");
}

TEST(Piece, ExtentsShrinkToTheValuesThatOccur) {
  IndexMap m({4}, {9});
  m.index = {m[0]};
  m.at_least_zero(m[1] - 2);
  m.at_least_zero(6 - m[1]);
  EXPECT_EQ(to_text(*piece_of(m, {4})), "axes j0:4 | t0:5; source (j0, t0 + 2)");
}

TEST(Piece, RowsThatExcludeEachOtherLeaveNone) {
  IndexMap m({4}, {9});
  m.index = {m[0]};
  m.at_least_zero(m[1] - m[0] - 6);
  m.at_least_zero(m[0] - m[1] + 5);
  EXPECT_FALSE(piece_of(m, {4}));
}

// Of the rows of `domain` those without which no other point of the box is let in.
int64_t implied_rows(const Domain& domain) {
  int64_t found = 0;
  for (size_t k = 0; k < domain.inequalities.size(); ++k) {
    Domain without = domain;
    without.inequalities.erase(without.inequalities.begin() + static_cast<std::ptrdiff_t>(k));
    bool needed = false;
    for_each_point(domain.extents, [&](const Point& point) {
      needed = needed || (without.contains(point) && !domain.contains(point));
    });
    found += needed ? 0 : 1;
  }
  return found;
}

TEST(Piece, OfPatternsHaveTightAxesNeededRowsAndUsedDivisions) {
  int pieces = 0;
  for (const Pattern& pattern : all_patterns(Size::Small)) {
    SCOPED_TRACE(pattern.name);
    for (const IndexMap& map : pattern.maps) {
      const std::optional<FibrePiece> piece = piece_of(map, pattern.target);
      if (!piece) continue;
      const Domain& domain = piece->domain;
      if (domain.box_points() > 5'000) continue;
      ++pieces;
      std::vector<std::set<int64_t>> values(domain.rank());
      for_each_point(domain.extents, [&](const Point& point) {
        if (!domain.contains(point)) return;
        for (size_t k = 0; k < point.size(); ++k) values[k].insert(point[k]);
      });
      for (size_t k = domain.output_rank; k < domain.rank(); ++k) {
        ASSERT_FALSE(values[k].empty());
        EXPECT_EQ(*values[k].begin(), 0) << to_text(*piece);
        EXPECT_EQ(*values[k].rbegin(), domain.extents[k] - 1) << to_text(*piece);
        EXPECT_GT(domain.extents[k], 1);
      }
      // With divisions a row may be implied for reasons that no proof finds.
      if (domain.divisions.empty()) {
        EXPECT_EQ(implied_rows(domain), 0) << to_text(*piece);
      }
    }
  }
  EXPECT_GT(pieces, 20);
}

}  // namespace
}  // namespace adjit::domain
