// tests/autosched/cpu/tile/factor_choices_test.cpp -- factors to try along the axes of a tile.
#include "autosched/cpu/tile/factor_choices.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"

namespace adjit::sched {
namespace {

TEST(FactorChoices, MasksOfAShortWindowWantAllItsTaps) {
  const Modelled m(
      parse_graph("def f(float(64) x, float(3) w, float(50) v) -> (y) { y(i) +=! x(i + r - 1) * "
                  "w(r) * v(s) where i in 0:64, r in 0:3, s in 0:50, i + r >= 1, i + r <= 64 }"),
      0);
  EXPECT_TRUE(takes_taps(m.model.setting(), 1));
  EXPECT_EQ(factor_choices(m.model.setting(), false, 1).back(), 3);
  EXPECT_FALSE(takes_taps(m.model.setting(), 2)) << "no constraint mentions it";
}

TEST(FactorChoices, RowsThatDataNamesAreTakenInPieces) {
  const Modelled m(
      parse_graph("def f(float(50, 8) x, float(8, 640) w, int64(640) I) -> (y) { y(i) +=! x(I(i) % "
                  "50, r) * w(r, i) where i in 0:640, r in 0:8 }"),
      0);
  EXPECT_TRUE(takes_rows(m.model.setting(), 1, 4)) << "16 bytes";
  EXPECT_FALSE(takes_rows(m.model.setting(), 1, 2));
  EXPECT_EQ(factor_choices(m.model.setting(), false, 1), (Factors{1, 4}));
}

TEST(FactorChoices, WhatIsReadOnceStreams) {
  const Modelled m(parse_graph("def f(float(64, 8000) x) -> (y) { y(i) +=! x(i, r) }"), 1);
  EXPECT_EQ(factor_choices(m.model.setting(), false, 0), (Factors{1, 2, 3, 4}));
  EXPECT_EQ(factor_choices(m.model.setting(), true, 0).back(), 16);
}

// Where an equality has terms at one of two residues only, a tile of both computes the other's too.
TEST(FactorChoices, PickedPointsStayOutside) {
  const Modelled tiled(parse_graph("def f(float(40, 9) x, float(9, 64) w) -> (y) { y(p, i, j) +=! "
                                   "x(i, r) * w(r, j) where p in "
                                   "0:2, i in 0:40, j in 0:64, r in 0:9, p == 1 }"),
                       2);
  EXPECT_EQ(tiled.model.choices(0), (Factors{1}));
  EXPECT_GT(tiled.model.choices(1).size(), 4u);
}

}  // namespace
}  // namespace adjit::sched
