// Which stages have their rows in common, at what levels, and what passes between these.
#include "autosched/cpu/passes/tile_fusion/row_dependence.hpp"

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/rows.hpp"

namespace adjit::sched {
namespace {

// The names of the first results of a layer's stages at a level.
std::string at_level(const Program& p, const RowStages& common, const RowLevels& levels,
                     int level) {
  std::string names;
  for (const auto& [s, axes] : common.stages)
    if (levels.of[s] == level) names += p.graph.info(p.graph.stages[s].results[0]).name + " ";
  return names;
}

TEST(RowsInCommon, HaveLevelsWhereHeadsAreMixed) {
  const Program p = plain(layer(2, 256, 48, 4));
  const CpuMachine machine = small_caches(2, 160 << 10);
  const RowReads reads(p, machine);
  const RowStages common = stages_in_common(reads, tensor_named(p, "s"), {1, {0}}, {});
  const RowLevels levels = levels_of(reads, common, {});
  EXPECT_EQ(levels.last, 1);
  EXPECT_EQ(at_level(p, common, levels, 0), "s m e z p o ");
  EXPECT_EQ(at_level(p, common, levels, 1), "dp t ds dq dk dv ");
  EXPECT_FALSE(common.passed.contains(tensor_named(p, "o"))) << "all heads read it";
  EXPECT_TRUE(common.passed.contains(tensor_named(p, "ds")));
}

TEST(RowsInCommon, AreOneLevelWhereTheGradientIsGiven) {
  const Program p = plain(attention(2, 256, 48, 4));
  const CpuMachine machine = small_caches();
  const RowReads reads(p, machine);
  const RowStages common = stages_in_common(reads, tensor_named(p, "s"), {1, {0}}, {});
  EXPECT_EQ(levels_of(reads, common, {}).last, 0);
  EXPECT_EQ(common.stages.size(), 12u);
  EXPECT_TRUE(is_closed(reads, common));
  const RowStages columns = stages_in_common(reads, tensor_named(p, "s"), {2, {0}}, {});
  EXPECT_GT(levels_of(reads, columns, {}).last, 0) << "a column waits for the maxima of all";
}

TEST(RowsInCommon, BatchesAreTakenApart) {
  const Graph graph = parse_graph(
      "def main(float(3, 256, 64) x, float(64, 12) v) -> (o) {\n"
      "  p(h, i, j) = exp(x(h, i, j))\n"
      "  o(i, d) +=! p(d // 4, i, r) * v(r, d) where i in 0:256, d in 0:12, r in 0:64\n}");
  const Program p = take_batches_apart(plain(graph), small_caches());
  EXPECT_EQ(p.graph.info(tensor_named(p, "o_residues")).shape, (std::vector<int64_t>{256, 3, 4}));
  expect_faithful(p, graph);
  EXPECT_EQ(take_batches_apart(plain(graph), CpuMachine{2, 512}).graph.stages.size(), 2u)
      << "fits the caches";
}

}  // namespace
}  // namespace adjit::sched
