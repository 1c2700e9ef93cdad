// tests/autosched/cpu/tile/tile_setting_test.cpp -- lanes, packed operands and constraints.
#include "autosched/cpu/tile/tile_setting.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"

namespace adjit::sched {
namespace {

Modelled transposed_product(const std::string& rows, size_t vector_axis, bool may_pack) {
  return {parse_graph("def f(float(" + rows +
                      ", 64) a, float(64, 64) b) -> (y) { y(i, j) +=! a(i, r) * b(j, r) }"),
          vector_axis,
          {.may_pack = may_pack}};
}

TEST(TileSetting, LanesAreThoseOfTheWidestTypeAndNoMoreThanPoints) {
  const auto lanes = [](const std::string& type, const std::string& points) {
    return Modelled(
               parse_graph("def f(" + type + "(" + points + ") x) -> (y) { y(i) = x(i) + x(i) }"),
               0)
        .model.setting()
        .lanes;
  };
  EXPECT_EQ(lanes("float", "640"), 8);
  EXPECT_EQ(lanes("double", "640"), 4);
  EXPECT_EQ(lanes("float", "3"), 4);
}

TEST(TileSetting, AnOperandReadOftenEnoughIsPackedForTheLanes) {
  const Modelled often = transposed_product("64", 1, true),
                 never = transposed_product("64", 1, false),
                 seldom = transposed_product("16", 1, true);
  const size_t b = often.read_of("b");
  EXPECT_TRUE(often.model.setting().is_copied(b));
  EXPECT_GT(often.model.setting().packing, CoreCosts().packing_cycles);
  EXPECT_FALSE(never.model.setting().is_copied(b));
  EXPECT_FALSE(seldom.model.setting().is_copied(b)) << "16 reads an element";
  EXPECT_EQ(seldom.model.setting().packing, 0);
}

TEST(TileSetting, StepsOfAQuarterLineShareLines) {
  const Modelled m = transposed_product("64", 1, false);
  const MemoryAccess& a = m.accesses.reads[m.read_of("a")];
  EXPECT_TRUE(m.model.setting().shares_lines(a, 2));
  EXPECT_FALSE(m.model.setting().shares_lines(a, 0)) << "a row of 256 bytes";
}

TEST(TileSetting, AxesOfASumComeInAnyOrder) {
  const Modelled m(parse_graph("def f(float(8, 5, 9) x) -> (y) { y(i) +=! x(i, r, s) }"), 0);
  EXPECT_TRUE(m.model.setting().stays_in_order(1));
  Graph winners = m.graph;
  winners.stages.back().combiner.kind = CombinerKind::ArgMax;
  const Modelled first(std::move(winners), 0);
  EXPECT_FALSE(first.model.setting().stays_in_order(1)) << "the first of equal ones";
  EXPECT_TRUE(first.model.setting().stays_in_order(2)) << "the innermost axis";
}

TEST(TileSetting, OnlyAxesThatAConstraintMentionsAreMasked) {
  const Modelled m(parse_graph("def f(float(64, 64) a) -> (y) { y(i) +=! a(i, r) where i in 0:64, "
                               "r in 0:64, r <= i }"),
                   0);
  EXPECT_TRUE(m.model.setting().is_masked(0));
  EXPECT_TRUE(m.model.setting().is_masked(1));
  EXPECT_FALSE(transposed_product("64", 1, false).model.setting().is_masked(0));
}

}  // namespace
}  // namespace adjit::sched
