// tests/autosched/program/points_test.cpp -- products of extents.
#include "autosched/program/points.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {
namespace {

Domain box(std::vector<int64_t> extents, size_t output_rank) {
  Domain domain;
  domain.extents = std::move(extents);
  domain.output_rank = output_rank;
  return domain;
}

TEST(Points, OfTheBoxAndOfItsReduction) {
  EXPECT_EQ(box_points(box({4, 5, 6}, 1)), 120);
  EXPECT_EQ(terms_of(box({4, 5, 6}, 1)), 30);
  EXPECT_EQ(terms_of(box({4, 5, 6}, 3)), 1);
}

TEST(Points, AreNotLessThanOneAndDoNotOverflow) {
  EXPECT_EQ(box_points(box({0, 5}, 1)), 5) << "prices divide by them";
  EXPECT_EQ(box_points(box({}, 0)), 1);
  EXPECT_EQ(box_points(box({int64_t{1} << 40, int64_t{1} << 40}, 2)), 0x1p80);
}

TEST(Points, TheShareOfABoxIsNear) {
  const auto share = [](const std::string& rows) {
    const Graph graph = parse_graph(
        "def f(float(300, 200) x) -> (y) {\n  y(i, j) +=! x(i, k) where i in 0:300, j in 0:100, "
        "k in 0:200" +
        rows + "\n}");
    return share_of_box(graph.stages.front().domain);
  };
  EXPECT_EQ(share(""), 1);
  EXPECT_NEAR(share(", k <= i"), 0.667, 0.03);
  EXPECT_NEAR(share(", 2 * j <= k"), 0.5, 0.03);
  EXPECT_NEAR(share(", 2 * j <= k, k <= i"), 0.278, 0.03);
  EXPECT_NEAR(share(", q = k // 3, i <= q"), 0.11, 0.03);
  EXPECT_LT(share(", i == j"), 0.02);
}

}  // namespace
}  // namespace adjit::sched
