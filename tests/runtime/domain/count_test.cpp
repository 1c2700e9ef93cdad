// tests/runtime/domain/count_test.cpp -- exact counts against brute force and closed forms.
#include "runtime/domain/count.hpp"

#include <gtest/gtest.h>

#include "visit.hpp"

namespace adjit::domain {
namespace {

TEST(Count, BoxesAndEmptyAxes) {
  EXPECT_EQ(count_points(IndexMap({1 << 20}, {1 << 20, 3}).source), int64_t{3} << 40);
  EXPECT_EQ(count_points(IndexMap({0}, {5}).source), 0);
  EXPECT_EQ(count_points(IndexMap({}, {}).source), 1);
  EXPECT_EQ(count_points(IndexMap({int64_t{1} << 40}, {int64_t{1} << 40}).source), std::nullopt);
}

TEST(Count, TriangleByItsOuterLoop) {
  const int64_t n = 100'000;
  IndexMap m({n}, {n});
  m.at_least_zero(m[0] - m[1]);
  EXPECT_EQ(count_points(m.source), n * (n + 1) / 2);
  EXPECT_EQ(count_points(m.source, 1000), std::nullopt);
}

// Components multiply: the large axes of a convolution are never enumerated together.
TEST(Count, IndependentComponentsMultiply) {
  IndexMap m({1000, 1000, 512}, {3, 3});
  m.within(m[0] + m[3] - 1, 1000);
  m.within(m[1] + m[4] - 1, 1000);
  EXPECT_EQ(count_points(m.source, 10'000), int64_t{2998} * 2998 * 512);
}

TEST(Count, ConstantRows) {
  IndexMap m({4}, {});
  m.at_least_zero(Affine(3));
  EXPECT_EQ(count_points(m.source), 4);
  m.at_least_zero(Affine(-1));
  EXPECT_EQ(count_points(m.source), 0);
}

TEST(Count, AgreesWithBruteForceOnEveryFibre) {
  for (const Pattern& pattern : all_patterns(Size::Small)) {
    for (const IndexMap& map : pattern.maps) {
      const auto pieces = fibre(map.source, map.index, pattern.target);
      ASSERT_TRUE(pieces.has_value());
      for (const FibrePiece& piece : *pieces) {
        int64_t points = 0;
        for_each_point(piece.domain.extents,
                       [&](const Point& point) { points += piece.domain.contains(point); });
        EXPECT_EQ(count_points(piece.domain), points) << to_text(piece);
      }
    }
  }
}

}  // namespace
}  // namespace adjit::domain
