// tests/runtime/domain/loop_order_test.cpp -- which rows use an axis, and the order of loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "patterns.hpp"
#include "runtime/domain/loops.hpp"

namespace adjit::domain {
namespace {

TEST(LoopOrder, RowsUseAnAxisAlsoThroughDivisions) {
  IndexMap m({8}, {3, 4});
  m.at_least_zero(m.floor(m[0] + m[1], 2) - 1);
  m.at_least_zero(m[0] - m[2]);
  m.zero(m.mod(m[2], 2));
  EXPECT_EQ(rows_using(m.source, 1).inequalities.size(), 1u);
  EXPECT_EQ(rows_using(m.source, 0).inequalities.size(), 2u);
  EXPECT_EQ(rows_using(m.source, 2).equalities.size(), 1u);
  EXPECT_TRUE(uses_axis(m.source, Affine::variable(3), 1));
  EXPECT_FALSE(uses_axis(m.source, Affine::variable(3), 2));
}

TEST(LoopOrder, NeverHasMoreInexactProjectionsThanTheNaturalOne) {
  // 3 a == 2 b + c with c in {0, 1}: b outside a is exact enough, a box stays in its order.
  IndexMap box({2}, {3, 4});
  EXPECT_EQ(loop_order(box.source), (std::vector<size_t>{0, 1, 2}));
  IndexMap m({}, {10, 10});
  m.at_least_zero(3 * m[0] - 5 * m[1]);
  m.at_least_zero(5 * m[1] + 1 - 3 * m[0]);
  const std::vector<size_t> order = loop_order(m.source);
  EXPECT_LE(loop_bounds(m.source, order).inexact,
            loop_bounds(m.source, std::vector<size_t>{0, 1}).inexact);
}

// A division of a division of the axis.
TEST(LoopOrder, DivisionsAreFollowedThroughEachOther) {
  IndexMap m({8, 8}, {});
  const Affine half = m.floor(m[0], 2), quarter = m.floor(half + m[1], 2);
  EXPECT_TRUE(uses_axis(m.source, quarter, 0));
  EXPECT_TRUE(uses_axis(m.source, quarter, 1));
  EXPECT_FALSE(uses_axis(m.source, half, 1));
  EXPECT_FALSE(uses_axis(m.source, Affine(3), 0));
  EXPECT_TRUE(rows_using(m.source, 0).inequalities.empty()) << "a division is no row";
}

// a in 0:10, b in 0:10 with 0 <= 3 a - 5 b <= 1: from outside b every a is found, from outside a
// most rows of it are empty.
TEST(LoopOrder, TakesTheOrderOfFewerInexactProjections) {
  IndexMap m({}, {10, 10});
  m.at_least_zero(m[0] - 3 * m[1]);
  m.at_least_zero(3 * m[1] + 1 - m[0]);
  const std::vector<size_t> natural{0, 1}, turned{1, 0};
  ASSERT_GT(loop_bounds(m.source, natural).inexact, 0);
  ASSERT_EQ(loop_bounds(m.source, turned).inexact, 0);
  EXPECT_EQ(loop_order(m.source), turned);
}

TEST(LoopOrder, OutputAxesAndAxesWithoutRowsStayInTheirPlaces) {
  IndexMap m({4}, {10, 6, 10});
  m.at_least_zero(m[1] - 3 * m[3]);
  m.at_least_zero(3 * m[3] + 1 - m[1]);
  EXPECT_EQ(loop_order(m.source), (std::vector<size_t>{0, 3, 2, 1}));
}

TEST(LoopOrder, OfMoreThanThreeCoupledAxesIsTheNaturalOne) {
  IndexMap m({}, {10, 10, 10, 10});
  m.at_least_zero(m[0] - 3 * m[3]);
  m.at_least_zero(3 * m[3] + 1 - m[0]);
  m.at_least_zero(m[1] - m[2]);
  EXPECT_EQ(loop_order(m.source), (std::vector<size_t>{0, 1, 2, 3}));
}

TEST(LoopOrder, RandomDomainsAreOrderedOnceAndNoWorseThanNaturally) {
  std::mt19937_64 random(3);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 100; ++round) {
    IndexMap m({3}, {5, 6, 7});
    for (int64_t k = between(1, 4); k > 0; --k) {
      Affine row(between(0, 6));
      for (size_t axis = 0; axis < 4; ++axis) row += Affine::variable(axis, between(-3, 3));
      m.at_least_zero(row);
    }
    const std::vector<size_t> order = loop_order(m.source);
    std::vector<size_t> sorted = order, natural(4);
    std::iota(natural.begin(), natural.end(), size_t{0});
    std::ranges::sort(sorted);
    ASSERT_EQ(sorted, natural);
    ASSERT_EQ(order[0], 0u);
    const auto reductions = [](const std::vector<size_t>& axes) {
      return std::span(axes).subspan(1);
    };
    EXPECT_LE(loop_bounds(m.source, reductions(order)).inexact,
              loop_bounds(m.source, reductions(natural)).inexact);
  }
}

}  // namespace
}  // namespace adjit::domain
