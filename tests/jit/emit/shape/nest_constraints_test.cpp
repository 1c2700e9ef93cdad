// tests/jit/emit/shape/nest_constraints_test.cpp -- where the constraints of a nest are asked, and
// their extremes in a tile.
#include "jit/emit/shape/nest_constraints.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::Extreme;
using emit::NestConstraints;
using emit::NestShape;

// Loops i, j, r and lanes along j, after moves in front of these.
Graph constrained_product(const std::string& constraints) {
  return parse_graph(
      "def main(float(24, 32) x, float(32, 16) w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) where "
      "i in 0:24, j in 0:16, r in 0:32, " +
      constraints + " }");
}

std::vector<Affine> forms(const emit::Constraints& constraints) {
  std::vector<Affine> all;
  for (const auto& constraint : constraints) all.push_back(constraint.form);
  return all;
}

const std::vector<Interval> kFromZero(3, Interval{0, 0});
const Affine kI = Affine::variable(0), kJ = Affine::variable(1), kR = Affine::variable(2);

TEST(NestConstraints, AreAskedWhereTheirLoopsDecideThem) {
  const Program p =
      vectorize(plain(constrained_product("i >= 3, r <= i, r <= j, j <= i")), 0, 1, 8);
  const NestShape shape(p, p.kernels[0].root);
  ASSERT_EQ(shape.reduction_begin, 2u);
  for (const bool reads_anywhere : {false, true}) {
    const NestConstraints sorted(p, shape, kFromZero, reads_anywhere);
    EXPECT_EQ(forms(sorted.outer), std::vector<Affine>{kI - Affine(3)});
    ASSERT_EQ(sorted.loops.size(), 4u);
    EXPECT_EQ(forms(sorted.loops[2]), std::vector<Affine>{kI - kR});
    const std::vector<Affine> of_results{kI - kJ};
    if (reads_anywhere) {
      EXPECT_EQ(forms(sorted.tile), std::vector<Affine>{kJ - kR});
      EXPECT_EQ(forms(sorted.results), of_results);
    } else {
      EXPECT_EQ(forms(sorted.tile), (std::vector<Affine>{kJ - kR, kI - kJ}));
      EXPECT_TRUE(sorted.results.empty());
    }
    EXPECT_TRUE(sorted.has_place.empty());
  }
}

TEST(NestConstraints, RegionsThatReachOutsideAreClipped) {
  const Program p = vectorize(plain(constrained_product("r <= j")), 0, 1, 8);
  const NestShape shape(p, p.kernels[0].root);
  const std::vector<Interval> first{{-2, 0}, {0, 1}, {0, 0}};
  const NestConstraints sorted(p, shape, first, true);
  EXPECT_EQ(forms(sorted.outer), std::vector<Affine>{kI});
  EXPECT_EQ(forms(sorted.tile), (std::vector<Affine>{kJ - kR, Affine(15) - kJ}))
      << "what clips is asked at every point, although it is of results alone";
  EXPECT_EQ(forms(sorted.has_place), (std::vector<Affine>{kI, Affine(15) - kJ}));
}

TEST(NestConstraints, InequalitiesWithoutDivisionsHaveExtremes) {
  const Program p =
      vectorize(plain(constrained_product("q = r // 2, q <= i, r <= j, r == i")), 0, 1, 8);
  const NestShape shape(p, p.kernels[0].root);
  const Domain& domain = shape.stage->domain;
  ASSERT_EQ(domain.inequalities.size(), 2u);
  EXPECT_FALSE(emit::has_extremes(shape, {domain.inequalities[0], false}));
  EXPECT_TRUE(emit::has_extremes(shape, {domain.inequalities[1], false}));
  EXPECT_FALSE(emit::has_extremes(shape, {domain.equalities[0], true}));
  EXPECT_TRUE(emit::differs_in_lanes(shape, {kJ - kR, false}));
  EXPECT_FALSE(emit::differs_in_lanes(shape, {kI - kR, false}));
}

TEST(NestConstraints, TheInnermostReductionLoopIsBounded) {
  Program p = vectorize(plain(constrained_product("r <= j")), 0, 1, 8);
  p = tile(std::move(p), 0, 2, std::vector<int64_t>{8});
  p = reorder(std::move(p), 0, std::vector<size_t>{0, 1, 2, 3, 4});
  const NestShape shape(p, p.kernels[0].root);
  ASSERT_EQ(shape.tile_begin, 4u) << print(p);
  ASSERT_EQ(shape.reduction_begin, 2u);
  EXPECT_TRUE(emit::bounds_loop(shape, {kJ - kR, false}, 3));
  EXPECT_FALSE(emit::bounds_loop(shape, {kJ - kR, false}, 2)) << "the loop inside takes part";
  EXPECT_FALSE(emit::bounds_loop(shape, {kJ - kI, false}, 3));
  EXPECT_FALSE(emit::bounds_loop(shape, {kJ - kR, true}, 3));
  EXPECT_FALSE(emit::bounds_loop(shape, {kJ - kI, false}, 0)) << "no loop of the reduction";
}

// Smallest and largest value of a form at the points of a tile, of all (or of one of its vectors).
Interval values_in_tile(const NestShape& shape, const Affine& form, std::vector<int64_t> variables,
                        std::optional<int64_t> vector = std::nullopt) {
  Interval found{INT64_MAX, INT64_MIN};
  const auto& loops = shape.nest->loops;
  const auto visit = [&](const auto& self, size_t l, int64_t lane_offset) -> void {
    if (l == loops.size()) {
      if (vector && lane_offset / shape.lanes * shape.lanes != *vector) return;
      std::vector<int64_t> point;
      for (const Affine& axis : shape.axes) point.push_back(evaluate(axis, variables));
      const int64_t value = evaluate(form, point);
      found = {std::min(found.lo, value), std::max(found.hi, value)};
      return;
    }
    const bool along_lanes = loops[l].axis == loops[*shape.lane_loop].axis;
    for (int64_t trip = 0; trip < loops[l].trips; ++trip) {
      variables[loops[l].variable] = trip * loops[l].step;
      self(self, l + 1, lane_offset + (along_lanes ? trip * loops[l].step : 0));
    }
  };
  visit(visit, shape.tile_begin, 0);
  return found;
}

TEST(NestConstraints, ExtremesAreThoseOfTheTilesPoints) {
  Program p =
      unroll(unroll(vectorize(plain(constrained_product("r <= j")), 0, 1, 4), 0, 1, 2), 0, 0, 3);
  p = unroll(std::move(p), 0, 2, 2);
  const NestShape shape(p, p.kernels[0].root);
  std::vector<int64_t> variables(p.kernels[0].variable_count, 0);
  for (size_t l = 0; l < shape.tile_begin; ++l)
    variables[shape.nest->loops[l].variable] = shape.nest->loops[l].step * static_cast<int64_t>(l);
  for (const int64_t i : {-2, 0, 1})
    for (const int64_t j : {-3, 0, 1})
      for (const int64_t r : {-1, 0, 5}) {
        const Affine form = kI * i + kJ * j + kR * r + Affine(7);
        const Interval all = values_in_tile(shape, form, variables);
        EXPECT_EQ(evaluate(emit::extreme_in_tile(shape, form, Extreme::Smallest), variables),
                  all.lo);
        EXPECT_EQ(evaluate(emit::extreme_in_tile(shape, form, Extreme::Largest), variables),
                  all.hi);
        for (const int64_t vector : {0, 4}) {
          const Interval some = values_in_tile(shape, form, variables, vector);
          const auto extreme = [&](Extreme which) {
            return evaluate(emit::extreme_in_vector(shape, form, vector, which), variables);
          };
          EXPECT_EQ(extreme(Extreme::Smallest), some.lo) << vector;
          EXPECT_EQ(extreme(Extreme::Largest), some.hi) << vector;
        }
      }
}

}  // namespace
}  // namespace adjit::testing
