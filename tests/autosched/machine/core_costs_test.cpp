// tests/autosched/machine/core_costs_test.cpp -- the table of what a core takes.
#include "autosched/machine/core_costs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "autosched/cpu/tile/loads.hpp"
#include "autosched/machine/thresholds.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/modelled.hpp"

namespace adjit::sched {
namespace {

TEST(CoreCosts, EveryRowSaysWhatItIsAndIsNoThreshold) {
  std::set<std::string_view> names;
  for (const TableRow<Thresholds>& row : threshold_rows()) names.insert(row.name);
  for (const TableRow<CoreCosts>& row : core_cost_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands there twice";
    EXPECT_FALSE(row.unit.empty()) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    CoreCosts changed;
    EXPECT_EQ(row.set(changed, row.value), row.value) << row.name;
  }
}

// Each element of w is loaded for one of the lanes alone.
TEST(CoreCosts, OfTheTargetDecideWhatATileTakes) {
  const Graph graph = parse_graph(R"(
def f(float(64, 64) w, float(64) x) -> (y) {
  y(i) +=! w(i, r) * x(r) where i in 0:64, r in 0:64
})");
  const Stage& stage = graph.stages.back();
  const Accesses accesses = accesses_of(graph, stage);
  const auto cycles = [&](double gather_lane_cycles) {
    Target target{.vector_bits = 256};
    target.core.gather_lane_cycles = gather_lane_cycles;
    const TileProblem problem{graph, stage, accesses, stage.domain.extents, target};
    return TileModel(problem, 0).cycles({1, 1});
  };
  EXPECT_GT(cycles(2), cycles(1));
}

// 32 rows of 256 floats: as many lines as an L1 of 32 KB keeps for a second column, but not one of
// 8 KB.
TEST(CoreCosts, CachesOfTheTargetDecideWhichLinesStay) {
  const Graph graph = parse_graph(R"(
def f(float(64, 256) w, float(256) x) -> (y) {
  y(i) +=! w(i, r) * x(r) where i in 0:64, r in 0:256
})");
  const Stage& stage = graph.stages.back();
  const Accesses accesses = accesses_of(graph, stage);
  const auto far = [&](int64_t l1_bytes) {
    const Target target{.vector_bits = 256, .l1_bytes = l1_bytes};
    const TileProblem problem{graph, stage, accesses, stage.domain.extents, target};
    return far_lanes(TileSetting(problem, 0), accesses.reads[0], {1, 1});
  };
  EXPECT_EQ(far(32 << 10), 0);
  EXPECT_GT(far(4 << 10), 0);
}

}  // namespace
}  // namespace adjit::sched
