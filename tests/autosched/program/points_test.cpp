// tests/autosched/program/points_test.cpp -- products of extents.
#include "autosched/program/points.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace adjit::sched
