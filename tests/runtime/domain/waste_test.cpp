// tests/runtime/domain/waste_test.cpp -- idle iterations of a fibre's loops.
#include "runtime/domain/waste.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"

namespace adjit::domain {
namespace {

FibrePiece piece_over(const IndexMap& map) {
  FibrePiece piece;
  piece.domain = map.source;
  return piece;
}

TEST(Waste, OfABoxIsNone) {
  FibrePiece exact = piece_over(IndexMap({8}, {3}));
  exact.inexact = 7;
  EXPECT_EQ(measure_waste(exact, 0), 0.0);
  EXPECT_EQ(exact.inexact, 0) << "it is set, not added to";
}

TEST(Waste, IsIdleIterationsPerPoint) {
  IndexMap m({8}, {12});
  m.zero(m.mod(m[1], 4) - 1);
  FibrePiece guarded = piece_over(m);
  EXPECT_DOUBLE_EQ(measure_waste(guarded, 0), 3.0);
}

TEST(Waste, OfLoopsWithoutAPointIsTheNumberOfIterations) {
  IndexMap m({1}, {12});
  m.zero(m.mod(m[1], 4) - 1);
  m.zero(m.mod(m[1], 6) - 2);
  FibrePiece none = piece_over(m);
  EXPECT_EQ(measure_waste(none, 0), 64 * 12.0) << "divided by one point, not by none";
}

// 3 b <= a <= 3 b + 1: a outside idles at every third a, b outside never.
TEST(Waste, AnotherOrderIsTriedOnlyPastWhatIsAllowed) {
  IndexMap m({2}, {12, 4});
  m.at_least_zero(m[1] - 3 * m[2]);
  m.at_least_zero(3 * m[2] + 1 - m[1]);
  FibrePiece piece = piece_over(m);
  EXPECT_DOUBLE_EQ(measure_waste(piece, 1), 0.5);
  EXPECT_GT(piece.inexact, 0) << "of the natural order";
  EXPECT_EQ(measure_waste(piece, 0), 0.0);
}

TEST(Waste, IsTheSameEveryTime) {
  IndexMap m({1000}, {40});
  m.at_least_zero(m[0] - 3 * m[1]);
  m.zero(m.mod(m[1] + m[0], 3));
  FibrePiece first = piece_over(m), again = piece_over(m);
  const double waste = measure_waste(first, 0);
  EXPECT_GT(waste, 0);
  EXPECT_EQ(measure_waste(again, 0), waste);
}

}  // namespace
}  // namespace adjit::domain
