// tests/autosched/cpu/tile/loads_test.cpp -- what a tile's loads cost in a step.
#include "autosched/cpu/tile/loads.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"

namespace adjit::sched {
namespace {

// A product whose operands' rows begin where vectors do, or anywhere: as the caller's do.
TEST(TileLoads, VectorsThatBeginAnywhereLieInTwoLines) {
  const auto product = [](int64_t columns, const std::string& operand) {
    const std::string n = std::to_string(columns);
    return parse_graph("def f(float(40, 64) x, float(64, " + n +
                       ") v) -> (y) { w(i, j) = 2 * v(i, j)"
                       " where i in 0:64, j in 0:" +
                       n + "  y(i, j) +=! x(i, r) * " + operand +
                       "(r, j) where i in 0:40, j in 0:" + n + ", r in 0:64 }");
  };
  const auto loads = [&](int64_t columns, const std::string& operand, bool packed) {
    const Modelled m(product(columns, operand), 1, {.may_pack = packed});
    return load_cost(m.model.setting(), m.model.windows(), m.read_of(operand), {6, 2, 1});
  };
  const double anywhere = 2 * CoreCosts().port_cycles * (1 + 28.0 / 64);  // 7 of 16 places
  EXPECT_EQ(loads(64, "w", false), 2 * CoreCosts().port_cycles);
  EXPECT_DOUBLE_EQ(loads(63, "w", false), anywhere);
  EXPECT_DOUBLE_EQ(loads(64, "v", false), anywhere);
  // Lanes along the reduction wait for more of them.
  const Modelled rows(parse_graph("def f(float(40, 64) x, float(32, 64) v) -> (y) { y(i, j) +=! "
                                  "x(i, r) * v(j, r) where i in 0:40, j in 0:32, r in 0:64 }"),
                      2, {});
  EXPECT_DOUBLE_EQ(
      load_cost(rows.model.setting(), rows.model.windows(), rows.read_of("v"), {3, 2, 1}),
      2 * CoreCosts().port_cycles * (1 + 1.5 * 28 / 64));
}

// Lanes along rows of so many elements, of which each step takes one of each row.
TEST(TileLoads, ElementsOfRowsInTheSameSetsComeFromL2) {
  const auto loads = [](int64_t elements, const Factors& factors) {
    const std::string n = std::to_string(elements);
    const Modelled product(parse_graph("def f(float(64, " + n + ") x, float(64, " + n +
                                       ") w) -> (y) { y(i, j) +=! x(i, r) * w(j, r) }"),
                           1);
    return load_cost(product.model.setting(), product.model.windows(), product.read_of("w"),
                     factors);
  };
  const double gathered = loads(1040, {4, 2, 1});
  EXPECT_DOUBLE_EQ(loads(1024, {4, 2, 1}), gathered + 2 * 8) << "16 rows, 4096 bytes apart";
  EXPECT_DOUBLE_EQ(loads(1024, {4, 2, 2}), 2 * gathered) << "the line is still there";
}

TEST(TileLoads, RowsOfEightLanesCostLessThanFourGathers) {
  const CoreCosts core;
  EXPECT_LT(row_load_cost(8, 4, core), 4 * core.gather_lane_cycles * 8);
}

}  // namespace
}  // namespace adjit::sched
