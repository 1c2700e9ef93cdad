// tests/jit/emit/scopes/kernel_variables_test.cpp -- what is known of forms where variables are
// bound.
#include "jit/emit/scopes/kernel_variables.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::KernelVariables;

Affine term(size_t k, int64_t scale = 1, int64_t constant = 0) {
  return Affine::variable(k, scale, constant);
}

TEST(KernelVariables, FixedVariablesAreNumbers) {
  KernelVariables v(3);
  v.bind_scalar(0, {0, 3}, 12, 0);
  v.bind_fixed(1, 7);
  const Affine i = v.resolve(term(0, 2) + term(1, 3, 1));
  EXPECT_EQ(i, term(0, 24) + Affine(22)) << "over trips";
  EXPECT_EQ(v.range(i), (Interval{22, 22 + 72}));
  v.unbind(1);
  EXPECT_THROW(v.resolve(term(1)), Error);
}

TEST(KernelVariables, LaneStridesAreCoefficientsOfTheLane) {
  KernelVariables v(2);
  v.bind_scalar(0, {0, 9}, 1, 0);
  v.bind_lanes(1, 4);
  EXPECT_EQ(v.lane_stride(term(0, 5)), 0);
  EXPECT_EQ(v.lane_stride(term(0) - term(1)), -1);
  EXPECT_EQ(v.lane_stride(term(1, 3)), 3);
  EXPECT_FALSE(v.in_lanes(term(0)));
  EXPECT_TRUE(v.in_lanes(term(1)));
  EXPECT_EQ(v.without_lanes(term(0, 5) + term(1, 3, 2)), term(0, 5, 2));
  EXPECT_EQ(v.lanes(), 4u);
  v.unbind(1);
  EXPECT_EQ(v.lanes(), 1u);
}

TEST(KernelVariables, FormsAreKnownInTheInnermostScopeOfTheirVariables) {
  KernelVariables v(3);
  v.bind_scalar(0, {0, 9}, 1, 2);
  v.bind_scalar(1, {0, 9}, 1, 1);
  v.bind_fixed(2, 3);
  const Affine form = term(0, 4) - term(1) + Affine(6);
  EXPECT_EQ(v.depth(form), 2u);
  EXPECT_EQ(v.depth(term(1)), 1u);
  EXPECT_EQ(v.depth(Affine(6)), 0u);
  EXPECT_EQ(by_depth(v, form),
            (std::vector<std::pair<size_t, Affine>>{{1, term(1, -1)}, {2, term(0, 4)}}));
}

TEST(KernelVariables, QuotientsAreVariables) {
  KernelVariables v(1);
  v.bind_scalar(0, {0, 9}, 1, 3);
  const size_t q = v.add_quotient(term(0, 2, -5), 4);
  EXPECT_EQ(q, 1u);
  EXPECT_EQ(v.range(term(q)), (Interval{-2, 3}));
  EXPECT_EQ(v.depth(term(q)), 3u);
  EXPECT_FALSE(v.in_lanes(term(q)));
}

// l // 2, and (l - 3) // 2 of it; where lanes start at any number, it is not the same everywhere.
TEST(KernelVariables, PatternsOfLanesAreTheSameWhereverTheyStart) {
  KernelVariables v(2);
  v.bind_scalar(0, {0, 9}, 1, 0);
  v.bind_lanes(1, 6);
  const Affine half = term(v.add_quotient(term(1), 2));
  EXPECT_EQ(v.lane_pattern(half * 5), (std::vector<int64_t>{0, 0, 5, 5, 10, 10}));
  EXPECT_EQ(v.lane_pattern(term(0, 7) + term(1) - half * 2),
            (std::vector<int64_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(v.lane_stride(half), std::nullopt);
  EXPECT_EQ(v.range(half), (Interval{0, 2}));
  const Affine moved = term(v.add_quotient(half - Affine(3), 2));
  EXPECT_EQ(v.lane_pattern(moved), (std::vector<int64_t>{-2, -2, -1, -1, -1, -1}));
  const Affine anywhere = term(v.add_quotient(term(0) + term(1), 2));
  EXPECT_EQ(v.lane_pattern(anywhere), std::nullopt);
  EXPECT_EQ(v.lane_pattern(term(v.add_quotient(anywhere, 3))), std::nullopt);
}

}  // namespace
}  // namespace adjit::testing
