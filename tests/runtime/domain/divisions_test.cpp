// tests/runtime/domain/divisions_test.cpp -- simplest floors, merged and in order.
#include "runtime/domain/divisions.hpp"

#include <gtest/gtest.h>

#include "visit.hpp"

namespace adjit::domain {
namespace {

/// A piece over j0:40 j1:6 with the divisions that `build` makes; its source axis is what it
/// returns.
template <class Build>
std::string simplified(const Build& build) {
  IndexMap m({40, 6}, {});
  FibrePiece piece;
  const Affine original = build(m);
  piece.domain = m.source;
  piece.original = {original};
  const Domain before = piece.domain;
  simplify_divisions(piece);
  order_divisions(piece);
  for_each_point(before.extents, [&](const Point& j) {
    EXPECT_EQ(evaluate(piece.original[0], piece.domain.variables_at(j)),
              evaluate(original, before.variables_at(j)));
  });
  return to_text(piece);
}

TEST(Divisions, MultiplesAndConstantsLeaveTheNumerator) {
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(7 * m[0] + 13, 3); }),
            "axes j0:40 j1:6; d0 = (j0 + 1) // 3; source (2*j0 + d0 + 4)");
}

TEST(Divisions, ConstantsWhereTheRangeAllowsNothingElse) {
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(m[1] + 9, 7); }),
            "axes j0:40 j1:6; d0 = (j1 + 2) // 7; source (d0 + 1)");
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(m[1] + 7, 7); }),
            "axes j0:40 j1:6; source (1)");
}

TEST(Divisions, CommonFactorsReduce) {
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(4 * m[0] + 7, 6); }),
            "axes j0:40 j1:6; d0 = (-j0) // 3; source (j0 + d0 + 1)");
}

TEST(Divisions, SmallPartsVanish) {
  // floor((10 j0 + j1) / 20) with j1 < 6
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(10 * m[0] + m[1], 20); }),
            "axes j0:40 j1:6; d0 = (j0) // 2; source (d0)");
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(2 * m[1] + m.mod(m[0], 2), 4); }),
            "axes j0:40 j1:6; d0 = (j0) // 2; d1 = (j0 + 2*j1 + 2*d0) // 4; source (-d0 + d1)");
}

TEST(Divisions, EqualOnesMergeAndUnusedOnesGo) {
  EXPECT_EQ(simplified([](IndexMap& m) {
              (void)m.floor(m[1], 5);
              return m.floor(m[0] + 3, 3) - m.floor(m[0], 3) + m.floor(2 * m[0], 6);
            }),
            "axes j0:40 j1:6; d0 = (j0) // 3; source (d0 + 1)");
}

TEST(Divisions, EarlierAxesFirst) {
  EXPECT_EQ(simplified([](IndexMap& m) { return m.floor(m[1], 4) + m.floor(m[0], 3); }),
            "axes j0:40 j1:6; d0 = (j0) // 3; d1 = (j1) // 4; source (d0 + d1)");
}

}  // namespace
}  // namespace adjit::domain
