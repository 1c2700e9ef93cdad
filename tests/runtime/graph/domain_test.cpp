#include "runtime/graph/domain.hpp"
#include "autosched/program/points.hpp"

#include <gtest/gtest.h>

namespace adjit::graph {
namespace {

TEST(Domain, CountsItsBox) {
  Domain domain;
  EXPECT_EQ(domain.box_points(), 1);
  domain.extents = {3, 4};
  EXPECT_EQ(domain.box_points(), 12);
  domain.extents = {INT64_MAX, 0, INT64_MAX};
  EXPECT_EQ(domain.box_points(), 0);
  domain.extents = {INT64_MAX, 2};
  EXPECT_THROW(domain.box_points(), Error);
}

TEST(Domain, EqualDivisionsAreOne) {
  Domain domain;
  domain.extents = {9};
  const size_t q = domain.add_division(Affine::variable(0), 2);
  EXPECT_EQ(q, 1u);
  EXPECT_EQ(domain.add_division(Affine::variable(0), 2), q);
  EXPECT_EQ(domain.add_division(Affine::variable(0), 3), 2u);
  EXPECT_EQ(domain.variable_count(), 3u);
}

TEST(Domain, RowsUseDivisionsOfDivisions) {
  Domain domain;
  domain.extents = {12};
  const size_t half = domain.add_division(Affine::variable(0), 2);
  const size_t sixth = domain.add_division(Affine::variable(half), 3);
  const int64_t point[] = {11};
  EXPECT_EQ(domain.variables_at(point), (std::vector<int64_t>{11, 5, 1}));
  domain.equalities = {Affine::variable(0) - Affine::variable(sixth, 6)};  // multiples of 6
  domain.inequalities = {Affine::variable(0, -1, 6)};
  int count = 0;
  for (int64_t i = 0; i < 12; ++i) count += domain.contains(std::span(&i, 1));
  EXPECT_EQ(count, 2);
}

TEST(Domain, AxesOfAFormAlsoInDivisions) {
  Domain domain;
  domain.extents = {12, 5, 7};
  const size_t half = domain.add_division(Affine::variable(0) + Affine::variable(2), 2);
  const size_t sixth = domain.add_division(Affine::variable(half), 3);
  const Affine form = Affine::variable(sixth, -1, 4);
  std::vector<bool> axes(3, false);
  domain.mark_axes(form, axes);
  EXPECT_EQ(axes, (std::vector<bool>{true, false, true}));
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(domain.mentions(form, axis), axes[axis]);
    EXPECT_FALSE(domain.is_bounded(axis));
  }
  domain.equalities = {form};
  domain.inequalities = {Affine::variable(2)};
  EXPECT_TRUE(domain.is_bounded(0));
  EXPECT_FALSE(domain.is_bounded(1));
  EXPECT_TRUE(domain.is_bounded(2));
}

TEST(Domain, FloorsOfNegativeNumerators) {
  Domain domain;
  domain.extents = {4};
  domain.add_division(Affine::variable(0, 1, -3), 2);
  const int64_t point[] = {0};
  EXPECT_EQ(domain.variables_at(point)[1], -2);
}

}  // namespace
}  // namespace adjit::graph
