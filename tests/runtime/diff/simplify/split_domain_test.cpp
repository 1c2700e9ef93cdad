// tests/runtime/diff/simplify/split_domain_test.cpp -- both parts together have exactly the
// domain's points.
#include "runtime/diff/simplify/split_domain.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Point = std::vector<int64_t>;

std::vector<Point> points_of(const Domain& domain) {
  std::vector<Point> found;
  Point point(domain.rank(), 0);
  for (;;) {
    if (domain.contains(point)) found.push_back(point);
    size_t k = domain.rank();
    while (k > 0 && ++point[k - 1] == domain.extents[k - 1]) point[--k] = 0;
    if (k == 0) return found;
  }
}

std::vector<size_t> members(AxisSet set) {
  std::vector<size_t> axes;
  for (size_t k = 0; k < 63; ++k)
    if (set >> k & 1) axes.push_back(k);
  return axes;
}

Point chosen(const Point& point, const std::vector<size_t>& axes) {
  Point part;
  for (size_t axis : axes) part.push_back(point[axis]);
  return part;
}

// Each part is the projection of the domain, and a point of the domain is a pair that agrees on the
// kept axes.
void expect_exact(const Domain& domain, AxisSet kept, AxisSet reduced, const SplitDomain& split) {
  std::vector<size_t> inside = members(kept), outside;
  for (size_t axis : members(reduced)) inside.push_back(axis);
  for (size_t k = 0; k < domain.rank(); ++k)
    if (!(reduced >> k & 1)) outside.push_back(k);
  std::set<Point> inner, outer;
  const std::vector<Point> all = points_of(domain);
  for (const Point& point : all) {
    inner.insert(chosen(point, inside));
    outer.insert(chosen(point, outside));
  }
  const std::vector<Point> in = points_of(split.inner), out = points_of(split.outer);
  EXPECT_EQ(std::set<Point>(in.begin(), in.end()), inner);
  EXPECT_EQ(std::set<Point>(out.begin(), out.end()), outer);
  size_t pairs = 0;
  for (const Point& o : out)
    for (const Point& i : in) {
      bool agree = true;
      for (size_t k = 0; k < split.inner.output_rank; ++k) {
        const auto at = std::ranges::find(outside, inside[k]) - outside.begin();
        agree = agree && o[static_cast<size_t>(at)] == i[k];
      }
      pairs += agree;
    }
  EXPECT_EQ(pairs, all.size());
}

TEST(SplitDomain, TheExampleOfTheHeader) {
  Domain domain{{9, 5, 5}, 1, {}, {}, {}};
  domain.inequalities = {Affine::variable(1) - Affine::variable(2)};
  EXPECT_EQ(row_neighbours(domain, 4), 6u);
  const auto split = split_domain(domain, 2, 4);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->inner.inequalities.size(), 1u);
  EXPECT_TRUE(split->outer.is_box());
  domain.inequalities = {Affine::variable(2) - Affine::variable(1) + Affine(-2)};
  const auto empty_ends = split_domain(domain, 2, 4);
  ASSERT_TRUE(empty_ends);
  EXPECT_EQ(empty_ends->outer.inequalities, (std::vector<Affine>{Affine(2) - Affine::variable(1)}));
}

TEST(SplitDomain, DivisionsGoWhereTheirAxesGo) {
  // i | j, k with k == 3 * (k // 3) and j // 2 <= i
  Domain domain{{4, 6, 9}, 1, {}, {}, {}};
  const Affine third = Affine::variable(domain.add_division(Affine::variable(2), 3));
  const Affine half = Affine::variable(domain.add_division(Affine::variable(1), 2));
  domain.equalities = {Affine::variable(2) - third * 3};
  domain.inequalities = {Affine::variable(0) - half};
  EXPECT_EQ(row_neighbours(domain, 4), 4u);
  EXPECT_EQ(row_neighbours(domain, 2), 3u);
  const Domain outer = select_axes(domain, std::vector<size_t>{0, 1}, 1);
  EXPECT_EQ(outer.divisions.size(), 1u);
  EXPECT_EQ(outer.equalities.size(), 0u);
  EXPECT_EQ(points_of(outer).size(), 2u + 4 + 6 + 6);
}

TEST(SplitDomain, RandomDomains) {
  size_t splits = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    Domain domain{{}, 2, {}, {}, {}};
    for (int k = 0; k < 4; ++k) domain.extents.push_back(random.between(2, 5));
    const auto form = [&] {
      Affine row(random.between(-3, 4));
      for (size_t k = 0; k < domain.variable_count(); ++k)
        if (random.between(0, 2) == 0) row += Affine::variable(k) * random.between(-2, 2);
      return row;
    };
    if (random.between(0, 2) == 0) domain.add_division(form(), 2);
    for (int64_t k = random.between(1, 3); k > 0; --k) domain.inequalities.push_back(form());
    if (points_of(domain).empty()) continue;
    const AxisSet reduced = random.between(0, 1) != 0 ? 8 : 12;
    const AxisSet kept = row_neighbours(domain, reduced) & ~reduced;
    const auto split = split_domain(domain, kept, reduced);
    if (!split) continue;
    ++splits;
    SCOPED_TRACE(seed);
    expect_exact(domain, kept, reduced, *split);
  }
  EXPECT_GT(splits, 100u);
}

}  // namespace
}  // namespace adjit::testing
