// tests/runtime/domain/bounds_test.cpp -- intervals and proofs over domains.
#include "runtime/domain/bounds.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"
#include "visit.hpp"

namespace adjit::domain {
namespace {

TEST(Bounds, BoxIntervalIgnoresRowsAndFollowsDivisions) {
  IndexMap m({8}, {3});
  const Affine half = m.floor(m[0] - 5, 2);
  m.at_least_zero(m[0] - m[1] - 4);
  EXPECT_EQ(box_interval(m.source, 2 * m[0] - m[1]), (Interval{-2, 14}));
  EXPECT_EQ(box_interval(m.source, half), (Interval{-3, 1}));
  EXPECT_EQ(box_interval(m.source, Affine(7)), (Interval{7, 7}));
}

TEST(Bounds, IntervalUsesRows) {
  IndexMap m({8}, {3});
  m.at_least_zero(m[0] - m[1] - 4);
  EXPECT_EQ(interval(m.source, m[0]), (Interval{4, 7}));
  EXPECT_EQ(interval(m.source, m[0] - m[1]), (Interval{4, 7}));
  m.at_least_zero(2 - m[0]);
  EXPECT_TRUE(interval(m.source, m[1])->empty());
}

TEST(Bounds, EmptyAxesAndOverflow) {
  IndexMap none({0}, {});
  EXPECT_TRUE(box_interval(none.source, none[0])->empty());
  EXPECT_TRUE(provably_empty(none.source));
  EXPECT_TRUE(implies(none.source, Affine(-1)));
  IndexMap huge({int64_t{1} << 40}, {});
  EXPECT_EQ(box_interval(huge.source, (int64_t{1} << 40) * huge[0]), std::nullopt);
  EXPECT_FALSE(implies(huge.source, (int64_t{1} << 40) * huge[0] - 1));
}

// A padded convolution's read is in bounds only because of its guards.
TEST(Bounds, ImpliesProvesReadsInBounds) {
  IndexMap m({8}, {3});
  const Affine read = 2 * m[0] + m[1] - 1;
  EXPECT_FALSE(implies(m.source, read));
  m.within(read, 16);
  EXPECT_TRUE(implies(m.source, read));
  EXPECT_TRUE(implies(m.source, 15 - read));
  EXPECT_FALSE(implies(m.source, 14 - read));
}

TEST(Bounds, ImpliesReasonsAboutQuotients) {
  IndexMap m({20}, {});
  const Affine quotient = m.floor(m[0], 3), remainder = m.mod(m[0], 3);
  EXPECT_TRUE(implies(m.source, remainder));
  EXPECT_TRUE(implies(m.source, 2 - remainder));
  EXPECT_FALSE(implies(m.source, 1 - remainder));
  EXPECT_TRUE(implies(m.source, m[0] - 3 * quotient));
  EXPECT_TRUE(implies_zero(m.source, 3 * quotient + remainder - m[0]));
  EXPECT_FALSE(implies_zero(m.source, remainder));
}

TEST(Bounds, ProvablyEmpty) {
  IndexMap m({20}, {});
  m.zero(m.mod(2 * m[0], 4) - 1);  // 2 j is even
  EXPECT_TRUE(provably_empty(m.source));
  IndexMap odd({20}, {});
  odd.zero(odd.mod(odd[0], 4) - 1);
  EXPECT_FALSE(provably_empty(odd.source));
}

TEST(Bounds, TightenKeepsTheSimplestRows) {
  IndexMap m({8}, {8});
  m.at_least_zero(m[0] + 3);             // the box
  m.at_least_zero(m[0] - m[1]);          // stays
  m.at_least_zero(2 * m[0] - m[1] + 1);  // follows
  m.at_least_zero(m[0] - m[1] + 1);      // follows
  m.zero(m[0] - m[0]);                   // 0 == 0
  EXPECT_EQ(to_text(tighten(m.source)), "axes j0:8 | t0:8; j0 - t0 >= 0");
}

TEST(Bounds, TightenKeepsOneOfTwoEqualRows) {
  IndexMap m({8}, {8});
  m.at_least_zero(m[0] - m[1]);
  m.at_least_zero(m[0] - m[1]);
  EXPECT_EQ(tighten(m.source).inequalities.size(), 1u);
}

}  // namespace
}  // namespace adjit::domain
