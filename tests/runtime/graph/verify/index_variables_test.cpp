// tests/runtime/graph/verify/index_variables_test.cpp -- variables of rows over a stage, and their
// ranges.
#include "runtime/graph/verify/index_variables.hpp"

#include <gtest/gtest.h>

namespace adjit::graph {
namespace {

// 0 <= i < 10, 0 <= j < 4 and q = i // 3.
Domain halved() {
  Domain domain;
  domain.extents = {10, 4};
  domain.output_rank = 2;
  domain.divisions.push_back({Affine::variable(0), 3});
  return domain;
}

TEST(IndexVariables, AreNumberedAsInTheDomain) {
  IndexVariables variables = variables_of(halved());
  ASSERT_EQ(variables.intervals.size(), 3u);
  EXPECT_EQ(variables.intervals[0].high, 9);
  EXPECT_EQ(variables.intervals[2].high, 3);
  EXPECT_EQ(add_variable(variables, {}), Affine::variable(3));
  EXPECT_FALSE(variables.intervals[3].low);
}

TEST(IndexVariables, RangesOfForms) {
  IndexVariables variables = variables_of(halved());
  const Affine form = Affine::variable(0) * 2 - Affine::variable(1) + Affine(1);
  EXPECT_EQ(range_of(variables, form).low, -2);
  EXPECT_EQ(range_of(variables, form).high, 19);
  const Affine open = add_variable(variables, {0, std::nullopt});
  EXPECT_EQ(range_of(variables, -open).high, 0);
  EXPECT_FALSE(range_of(variables, -open).low);
}

TEST(IndexVariables, WideRangesSayWhetherAFormFits) {
  IndexVariables variables = variables_of(halved());
  const Affine data = add_variable(variables, {});
  EXPECT_TRUE(wide_range_of(variables, data).fits());
  EXPECT_FALSE(wide_range_of(variables, data + Affine(1)).fits());
}

TEST(IndexVariables, FloorsShareTheVariableOfTheirDivision) {
  IndexVariables variables = variables_of(halved());
  EXPECT_EQ(floor_of(variables, Affine::variable(0), 3), Affine::variable(2));
  const Affine other = floor_of(variables, Affine::variable(0), 5);
  EXPECT_EQ(other, Affine::variable(3));
  EXPECT_EQ(range_of(variables, other).high, 1);
  EXPECT_EQ(floor_of(variables, Affine::variable(0), 5), other);
}

// What always holds excludes a quotient that is too large.
TEST(IndexVariables, TheMeaningOfDivisionsAlwaysHolds) {
  const IndexVariables variables = variables_of(halved());
  LinearSystem system = variables.always;
  append(system, {{Affine::variable(2) * 3 - Affine::variable(0) + Affine(-1)}, {}});
  EXPECT_TRUE(is_certainly_empty(system));
}

}  // namespace
}  // namespace adjit::graph
