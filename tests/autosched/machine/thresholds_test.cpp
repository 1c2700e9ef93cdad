// tests/autosched/machine/thresholds_test.cpp -- the table of thresholds, and moving one.
#include "autosched/machine/thresholds.hpp"

#include <gtest/gtest.h>

#include <set>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const TableRow<Thresholds>& row(std::string_view name) {
  for (const TableRow<Thresholds>& r : threshold_rows())
    if (r.name == name) return r;
  throw std::out_of_range(std::string(name));
}

TEST(Thresholds, EveryRowSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const TableRow<Thresholds>& r : threshold_rows()) {
    EXPECT_TRUE(names.insert(r.name).second) << r.name << " stands there twice";
    EXPECT_FALSE(r.unit.empty()) << r.name;
    EXPECT_FALSE(r.meaning.empty()) << r.name;
    EXPECT_GT(r.get({}), 0) << r.name;
  }
}

TEST(Thresholds, WholeNumbersAreRounded) {
  Thresholds moved;
  EXPECT_EQ(row("join_parts").set(moved, 9.6), 10);
  EXPECT_EQ(moved.join_parts, 10u);
  EXPECT_EQ(row("column_share").set(moved, 0.9), 0.9);
  EXPECT_EQ(moved.column_share, 0.9);
}

// Cheap stages are inlined: a store and a load cost more than computing them again.
TEST(Thresholds, MovedOnesDecideUntilTheyEnd) {
  const Graph graph = parse_graph(R"(
def f(float(64, 64) x) -> (y) {
  e(i, j) = x(i, j) * 2.0 where i in 0:64, j in 0:64
  y(i, j) = e(i, j) + e(j, i) where i in 0:64, j in 0:64
}
)");
  const auto inlines = [&] {
    return has_move(default_schedule(graph, CpuMachine{1, 512}), "inline");
  };
  ASSERT_TRUE(inlines());
  {
    Thresholds moved;
    moved.near_store_cost = 0;
    moved.far_store_cost = 0;
    const MovedThresholds during(moved);
    EXPECT_EQ(thresholds().near_store_cost, 0);
    EXPECT_FALSE(inlines());
  }
  EXPECT_EQ(thresholds().near_store_cost, row("near_store_cost").get({}));
  EXPECT_TRUE(inlines());
}

}  // namespace
}  // namespace adjit::sched
