// tests/runtime/domain/loops_test.cpp -- bounds, guards and orders of loops.
#include "runtime/domain/loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "visit.hpp"

namespace adjit::domain {
namespace {

std::string nest_text(const Domain& domain, const std::vector<size_t>& order) {
  std::vector<std::string> names;
  for (size_t k = 0; k < domain.rank(); ++k)
    names.push_back(std::string(1, static_cast<char>('a' + k)));
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    names.push_back(std::string(1, static_cast<char>('p' + q)));
  std::ostringstream text;
  const auto guards = [&](std::span<const Affine> ge, std::span<const Affine> eq) {
    for (const Affine& row : ge) text << " if " << to_string(row, names) << " >= 0";
    for (const Affine& row : eq) text << " if " << to_string(row, names) << " == 0";
  };
  const auto side = [&](std::span<const Bound> bounds) {
    for (const Bound& bound : bounds) {
      text << " " << to_string(bound.form, names);
      if (bound.divisor != 1) text << " / " << bound.divisor;
    }
  };
  const LoopNestBounds nest = loop_bounds(domain, order);
  guards(nest.outer_guards_ge, nest.outer_guards_eq);
  for (const LoopBounds& loop : nest.loops) {
    text << " for " << names[loop.axis] << " max";
    side(loop.lower);
    text << " min";
    side(loop.upper);
    guards(loop.guards_ge, loop.guards_eq);
  }
  return text.str();
}

TEST(Loops, BoxHasConstantBounds) {
  IndexMap m({4}, {5});
  EXPECT_EQ(nest_text(m.source, {0, 1}), " for a max 0 min 3 for b max 0 min 4");
  EXPECT_EQ(nest_text(m.source, {1, 0}), " for b max 0 min 4 for a max 0 min 3");
  EXPECT_TRUE(loop_bounds(m.source, std::vector<size_t>{0, 1}).loops[1].constant());
}

TEST(Loops, RowsBecomeBoundsOfTheInnermostAxis) {
  IndexMap m({8}, {3});
  m.at_least_zero(m[0] - m[1]);
  m.at_least_zero(m[1] - m[0] + 5);
  EXPECT_EQ(nest_text(m.source, {0, 1}), " for a max 0 min 7 for b max a - 5 0 min 2 a");
  EXPECT_EQ(nest_text(m.source, {1, 0}), " for b max 0 min 2 for a max b min b + 5");
}

TEST(Loops, OuterLoopsGetProjectedBounds) {
  IndexMap m({100}, {10});
  m.at_least_zero(m[0] - 3 * m[1] - 40);
  m.at_least_zero(3 * m[1] + 42 - m[0]);
  EXPECT_EQ(nest_text(m.source, {0, 1}),
            " for a max 40 min 69 for b max a - 42 / 3 min a - 40 / 3");
}

TEST(Loops, AxesOutsideTheOrderAreKnown) {
  IndexMap m({8}, {3});
  m.at_least_zero(m[0] - 2);
  m.at_least_zero(m[0] - m[1]);
  EXPECT_EQ(nest_text(m.source, {1}), " if a - 2 >= 0 for b max 0 min 2");
}

TEST(Loops, ModuloConditionsAreGuardsWhereTheyAreKnown) {
  IndexMap m({8}, {3});
  m.zero(m.mod(m[0], 2));
  EXPECT_EQ(nest_text(m.source, {0, 1}), " for a max 0 min 7 if a - 2*p == 0 for b max 0 min 2");
  EXPECT_EQ(nest_text(m.source, {1}), " if a - 2*p == 0 for b max 0 min 2");
  IndexMap coupled({8}, {3});
  coupled.zero(coupled.mod(coupled[0] + coupled[1], 2));
  EXPECT_EQ(nest_text(coupled.source, {0, 1}),
            " for a max 0 min 7 for b max 0 min 2 if a + b - 2*p == 0");
}

TEST(Loops, DivisionsOfOuterAxesMayBeBounds) {
  IndexMap m({9}, {9});
  m.at_least_zero(m.floor(m[0], 2) - m[1]);
  EXPECT_EQ(nest_text(m.source, {0, 1}), " for a max 0 min 8 for b max 0 min p");
}

TEST(Loops, EmptyDomainHasAFalseGuard) {
  IndexMap m({8}, {3});
  m.at_least_zero(m[1] - m[0] - 5);
  EXPECT_EQ(nest_text(m.source, {0, 1}), " if -1 >= 0 for a max 0 min 7 for b max 0 min 2");
}

// Random domains with divisions, every order of axes: exactly the points of the domain.
TEST(Loops, VisitExactlyThePoints) {
  std::mt19937_64 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int repetition = 0; repetition < 300; ++repetition) {
    IndexMap m({between(1, 6), between(1, 6)}, {between(1, 6)});
    std::vector<Affine> terms{m[0], m[1], m[2]};
    const auto combination = [&] {
      Affine form(between(-4, 4));
      for (const Affine& term : terms) form += term * between(-3, 3);
      return form;
    };
    for (int64_t k = between(0, 2); k > 0; --k)
      terms.push_back(m.floor(combination(), between(2, 5)));
    for (int64_t k = between(0, 3); k > 0; --k) m.at_least_zero(combination() + between(0, 6));
    if (between(0, 3) == 0) m.zero(m.mod(combination(), between(2, 3)));
    std::vector<Point> expected;
    for_each_point(m.source.extents, [&](const Point& point) {
      if (m.source.contains(point)) expected.push_back(point);
    });
    std::vector<size_t> order{0, 1, 2};
    do {
      const LoopNestBounds nest = loop_bounds(m.source, order);
      std::vector<Point> visited;
      run_nest(m.source, nest, {}, [&](const Point& point) { visited.push_back(point); });
      std::sort(visited.begin(), visited.end());
      ASSERT_EQ(visited, expected) << to_text(m.source) << nest_text(m.source, order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

}  // namespace
}  // namespace adjit::domain
