// tests/autosched/machine/core_costs_test.cpp -- the table of what a core takes.
#include "autosched/machine/core_costs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "autosched/cpu/tile/loads.hpp"
#include "autosched/machine/thresholds.hpp"
#include "runtime/graph/parse/text_module.hpp"
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
    EXPECT_EQ(row.set(changed, 7), 7) << row.name;
    EXPECT_EQ(row.get(changed), 7) << row.name;
  }
}

// y(i) += w(i, r) x(r) with lanes along i: each element of w is loaded for one of the lanes alone.
struct Rows {
  explicit Rows(const CpuMachine& machine)
      : problem{graph, graph.stages.back(), accesses, graph.stages.back().domain.extents, machine} {
  }

  const LoweredGraph graph{parse_graph(R"(
def f(float(64, 256) w, float(256) x) -> (y) {
  y(i) +=! w(i, r) * x(r) where i in 0:64, r in 0:256
})")};
  const Accesses accesses = accesses_of(graph, graph.stages.back());
  const TileProblem problem;
};

TEST(CoreCosts, OfTheTargetDecideWhatATileTakes) {
  const auto cycles = [](double gather_lane_cycles) {
    CpuMachine machine{.vector_bits = 256};
    machine.core.gather_lane_cycles = gather_lane_cycles;
    const Rows rows(machine);
    return TileModel(rows.problem, 0).cycles({1, 1});
  };
  EXPECT_GT(cycles(2), cycles(1));
}

// Eight rows, a KB apart: their lines stay in an L1 of 32 KB for the next column, not in one of 4
// KB.
TEST(CoreCosts, CachesOfTheTargetDecideWhichLinesStay) {
  const auto far = [](int64_t l1_bytes) {
    const CpuMachine machine{.vector_bits = 256, .l1_bytes = l1_bytes};
    const Rows rows(machine);
    return far_lanes(TileSetting(rows.problem, 0), rows.accesses.reads[0], {1, 1});
  };
  EXPECT_EQ(far(32 << 10), 0);
  EXPECT_GT(far(4 << 10), 0);
}

}  // namespace
}  // namespace adjit::sched
