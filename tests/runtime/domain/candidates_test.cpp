// tests/runtime/domain/candidates_test.cpp -- windows of a system, and which comes first.
#include "runtime/domain/candidates.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"

namespace adjit::domain {
namespace {

// The system of a domain that nothing is read of: every column stays free.
FibreSystem whole(const IndexMap& map, const BasisChoice& choice = {}) {
  FibreSystem system(map.source, {}, {});
  EXPECT_TRUE(system.tidy_inequalities());
  collect_windows(system, choice);
  return system;
}

TEST(Candidates, EveryAxisIsAWindowOfItsExtent) {
  const FibreSystem system = whole(IndexMap({5}, {1, 7}));
  ASSERT_EQ(system.windows.size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(system.windows[k].axis, k);
    EXPECT_EQ(system.windows[k].form, Affine::variable(k));
    EXPECT_EQ(system.windows[k].width, system.extents[k] - 1);
  }
}

TEST(Candidates, ABandIsAWindowThatIsNoAxis) {
  IndexMap m({9}, {9});
  m.within(m[0] - m[1] + 1, 3);  // |i - r| <= 1
  const FibreSystem system = whole(m);
  ASSERT_EQ(system.windows.size(), 3u);
  EXPECT_FALSE(system.windows[2].axis);
  EXPECT_EQ(system.windows[2].width, 2);
}

TEST(Candidates, AnAxisWindowIsCutToTheValuesItTakes) {
  IndexMap m({9}, {4});
  m.at_least_zero(m[0] - m[1] - 2);  // i >= r + 2
  m.at_least_zero(5 + m[1] - m[0]);  // i <= r + 5
  const FibreSystem system = whole(m);
  const auto i = std::ranges::find(system.windows, std::optional<size_t>(0), &Window::axis);
  ASSERT_NE(i, system.windows.end());
  EXPECT_EQ(i->form, Affine::variable(0) - 2);
  EXPECT_EQ(i->width, 6);
}

TEST(Candidates, WindowsOfDivisionsTakePartWhereAsked) {
  IndexMap m({12}, {});
  m.floor(m[0], 3);
  const auto count = [&](bool divisions) { return whole(m, {{}, divisions}).windows.size(); };
  EXPECT_LT(count(false), count(true));
}

struct Choices {
  IndexMap map{{5, 5}, {5, 2, 1}};
  FibreSystem system = whole(map);
  size_t next(std::vector<size_t> columns, std::vector<size_t> survivors = {},
              std::vector<size_t> quotients = {}) {
    const auto found = next_window(system, columns, quotients, {std::move(survivors), false});
    return found ? *system.windows[*found].axis : SIZE_MAX;
  }
};

TEST(Candidates, OneValueComesFirstThenFewestThenLaterAxes) {
  Choices c;
  EXPECT_EQ(c.next({0, 1, 2, 3, 4}), 4u);
  EXPECT_EQ(c.next({0, 1, 2, 3}), 3u);
  EXPECT_EQ(c.next({0, 1, 2}), 2u) << "equal extents: reduction axes stand last";
  EXPECT_EQ(c.next({0, 1}), 1u);
  EXPECT_EQ(c.next({}), SIZE_MAX);
}

TEST(Candidates, PreferredAxesComeBeforeFewerValuesButNotBeforeOne) {
  Choices c;
  EXPECT_EQ(c.next({0, 1, 2, 3}, {0, 2}), 0u);
  EXPECT_EQ(c.next({1, 2, 3}, {0, 2}), 2u);
  EXPECT_EQ(c.next({1, 3}, {0, 2}), 3u) << "neither is preferred";
  EXPECT_EQ(c.next({0, 4}, {0}), 4u);
}

TEST(Candidates, WindowsThatUseAQuotientsColumnWait) {
  Choices c;
  EXPECT_EQ(c.next({0, 3}, {}, {3}), 0u);
}

TEST(Candidates, GcdIsOverTheColumnsAsked) {
  const Affine form = Affine::variable(0, 6) + Affine::variable(1, -4) + Affine::variable(2, 9);
  EXPECT_EQ(gcd_over(form, std::vector<size_t>{0, 1}), 2);
  EXPECT_EQ(gcd_over(form, std::vector<size_t>{0, 2}), 3);
  EXPECT_EQ(gcd_over(form, std::vector<size_t>{}), 0);
}

}  // namespace
}  // namespace adjit::domain
