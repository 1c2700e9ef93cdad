// Which stages have their rows in common, at what levels, and what passes between these.
#include "autosched/cpu/passes/tile_fusion/row_dependence.hpp"

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp"
#include "autosched/cpu/schedule.hpp"
#include "autosched/program/nests.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TensorId tensor(const Program& p, const std::string& name) {
  for (uint32_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.graph.tensors[t].name == name) return TensorId{t};
  throw std::runtime_error(name);
}

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
  const Target target = small_caches(2, 160 << 10);
  const RowReads reads(p, target);
  const RowStages common = stages_in_common(reads, tensor(p, "s"), {1, {0}}, {});
  const RowLevels levels = levels_of(reads, common, {});
  EXPECT_EQ(levels.last, 1);
  EXPECT_EQ(at_level(p, common, levels, 0), "s m e z p o ");
  EXPECT_EQ(at_level(p, common, levels, 1), "dp t ds dq dk dv ");
  EXPECT_FALSE(common.passed.contains(tensor(p, "o"))) << "all heads read it";
  EXPECT_TRUE(common.passed.contains(tensor(p, "ds")));
}

TEST(RowsInCommon, AreOneLevelWhereTheGradientIsGiven) {
  const Program p = plain(attention(2, 256, 48, 4));
  const Target target = small_caches();
  const RowReads reads(p, target);
  const RowStages common = stages_in_common(reads, tensor(p, "s"), {1, {0}}, {});
  EXPECT_EQ(levels_of(reads, common, {}).last, 0);
  EXPECT_EQ(common.stages.size(), 12u);
  EXPECT_TRUE(is_closed(reads, common));
  const RowStages columns = stages_in_common(reads, tensor(p, "s"), {2, {0}}, {});
  EXPECT_GT(levels_of(reads, columns, {}).last, 0) << "a column waits for the maxima of all";
}

TEST(RowsInCommon, PassOnWhatIsNotTooMuch) {
  const Program p = plain(layer(2, 256, 48, 4));
  const auto passing = [&](int64_t kept_bytes) {
    Target target = small_caches(2, 160 << 10);
    target.kept_bytes = kept_bytes;
    const RowReads reads(p, target);
    const RowStages common = stages_in_common(reads, tensor(p, "s"), {1, {0}}, {});
    return *passing_of(reads, common, levels_of(reads, common, {}), {});
  };
  const RowPassing nothing = passing(0);
  EXPECT_TRUE(nothing.kept.empty());
  EXPECT_TRUE(nothing.too_much);
  ASSERT_EQ(nothing.again.size(), 1u);
  EXPECT_EQ(nothing.again[0].reader, tensor(p, "t"));
  EXPECT_EQ(nothing.again[0].stages,
            (std::vector<TensorId>{tensor(p, "p"), tensor(p, "e"), tensor(p, "s")}));
  const RowPassing one = passing(256 << 20);
  EXPECT_EQ(one.kept, std::set<TensorId>{tensor(p, "p")});
  EXPECT_TRUE(one.again.empty());
  EXPECT_FALSE(one.too_much);
}

TEST(RowsInCommon, BatchesAreTakenApart) {
  const Graph graph = parse_graph(
      "def main(float(3, 256, 64) x, float(64, 12) v) -> (o) {\n"
      "  p(h, i, j) = exp(x(h, i, j))\n"
      "  o(i, d) +=! p(d // 4, i, r) * v(r, d) where i in 0:256, d in 0:12, r in 0:64\n}");
  const Program p = take_batches_apart(plain(graph), small_caches());
  EXPECT_EQ(p.graph.info(tensor(p, "o_residues")).shape, (std::vector<int64_t>{256, 3, 4}));
  expect_faithful(p, graph);
  EXPECT_EQ(take_batches_apart(plain(graph), Target{2, 512}).graph.stages.size(), 2u)
      << "fits the caches";
}

size_t count_moves(const Program& p, const std::string& name) {
  size_t count = 0;
  for (size_t at = 0; (at = p.moves_json.find("\"" + name + "\"", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

// Results of so many elements or more that exist as a whole.
size_t whole_scores(const Program& p, int64_t elements) {
  const TaskChains chains = task_chains(p);
  const std::vector<size_t> in_place = stages_in_place(p);
  size_t count = 0;
  for (size_t s = 0; s < p.graph.stages.size(); ++s)
    for (TensorId id : p.graph.stages[s].results)
      count += p.scopes[id.value] == Scope::Workspace && chains.slices[id.value] == 0 &&
               !std::ranges::binary_search(in_place, s) &&
               p.graph.info(id).element_count() >= elements;
  return count;
}

TEST(RowsInCommon, WhatWaitsForOtherHeadsIsKeptOnce) {
  const Graph graph = layer(2, 256, 48, 4);
  Target target = small_caches(2, 160 << 10);
  const Program p = default_schedule(graph, target);
  EXPECT_EQ(count_moves(p, "split_axis"), 2u) << print(p);
  EXPECT_EQ(whole_scores(p, 2 * 256 * 48), 1u) << print(p);
  expect_faithful(p, graph);
}

TEST(RowsInCommon, WhatIsTooMuchToKeepIsComputedAgain) {
  for (const int64_t rows : {256, 259}) {
    const Graph graph = layer(2, rows, 48, 4);
    Target target = small_caches(2, 160 << 10);
    target.kept_bytes = 0;
    const Program p = default_schedule(graph, target);
    EXPECT_EQ(count_moves(p, "split_axis"), 2u) << print(p);
    EXPECT_GE(count_moves(p, "rematerialize"), 2u) << print(p);
    EXPECT_EQ(whole_scores(p, 2 * rows * 48), 0u) << print(p);
    expect_faithful(p, graph);
  }
}

// Values of the forward that the backward alone reads are not there twice.
TEST(RowsInCommon, WhatOnlyTheBackwardReads) {
  for (const int64_t kept : {0, 256 << 20}) {
    std::string text = text_of_layer(2, 256, 48, 4);
    const auto change = [&](const std::string& from, const std::string& to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    change("dp(h, i, r) * p(h, i, r)", "dp(h, i, r) * a(h, i, r)");
    change("p(h, i, j) * (dp", "a(h, i, j) * (dp");
    change("p(h, r, j) * c", "a(h, r, j) * c");
    change("  dp(h,", "  a(h, i, j) = tanh(s(h, i, j)) * p(h, i, j)\n  dp(h,");
    const Graph graph = parse_graph(text);
    Target target = small_caches(2, 160 << 10);
    target.kept_bytes = kept;
    expect_faithful(default_schedule(graph, target), graph);
  }
}

// Each value is read by the two after it: ways through them are many, and none is walked twice.
TEST(RowsInCommon, OfManyValues) {
  std::string text = text_of_layer(2, 256, 48, 4), values;
  for (int k = 2; k <= 40; ++k)
    values += "  e" + std::to_string(k) + "(h, i, j) +=! (e" + std::to_string(k - 1) +
              "(h, i, r) + e" + std::to_string(k - 2) + "(h, i, r)) * u(r, j)\n";
  const size_t at = text.find("  e(h, i, j)"), end = text.find("  z(h, i)");
  text.replace(at, end - at,
               "  e0(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
               "  e1(h, i, j) +=! e0(h, i, r) * u(r, j)\n" +
                   values + "  e(h, i, j) = exp(e40(h, i, j))\n");
  text.replace(text.find(") w) ->"), 7, ") w, float(48, 48) u) ->");
  Target target = small_caches(2, 160 << 10);
  verify(default_schedule(parse_graph(text), target));
}

// Heads that lie side by side in a row of all of them.
TEST(RowsInCommon, OfHeadsSideBySide) {
  const Graph graph = parse_graph(
      "def main(float(256, 12) q, float(256, 12) k, float(256, 12) v) -> (o, dk) {\n"
      "  s(h, i, j) +=! q(i, 4 * h + r) * k(j, 4 * h + r) where h in 0:3, i in 0:256, j in 0:256, "
      "r in 0:4\n"
      "  m(h, i) max=! s(h, i, r)\n"
      "  p(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
      "  o(i, d) +=! p(d // 4, i, r) * v(r, d) where i in 0:256, d in 0:12, r in 0:256\n"
      "  dk(j, d) +=! p(d // 4, r, j) * v(r, d) where j in 0:256, d in 0:12, r in 0:256\n}");
  const Program p = default_schedule(graph, small_caches());
  EXPECT_EQ(count_moves(p, "split_axis"), 1u) << print(p);
  EXPECT_EQ(whole_scores(p, 3 * 256 * 256), 0u) << print(p);
  expect_faithful(p, graph);
}

}  // namespace
}  // namespace adjit::sched
