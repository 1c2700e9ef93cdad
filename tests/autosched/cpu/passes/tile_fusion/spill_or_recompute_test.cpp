// tests/autosched/cpu/passes/tile_fusion/spill_or_recompute_test.cpp -- what passes between levels
// of rows: kept, or computed again.
#include "autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp"

#include <gtest/gtest.h>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/rows.hpp"

namespace adjit::sched {
namespace {

TEST(SpillOrRecompute, WhatIsNotTooMuchIsKept) {
  const Program p = plain(layer(2, 256, 48, 4));
  const auto passing = [&](int64_t kept_bytes) {
    CpuMachine machine = small_caches(2, 160 << 10);
    machine.kept_bytes = kept_bytes;
    const RowReads reads(p, machine);
    const RowStages common = stages_in_common(reads, tensor_named(p, "s"), {1, {0}}, {});
    return *passing_of(reads, common, levels_of(reads, common, {}), {});
  };
  const RowPassing nothing = passing(0);
  EXPECT_TRUE(nothing.kept.empty());
  EXPECT_TRUE(nothing.too_much);
  ASSERT_EQ(nothing.again.size(), 1u);
  EXPECT_EQ(nothing.again[0].reader, tensor_named(p, "t"));
  EXPECT_EQ(
      nothing.again[0].stages,
      (std::vector<TensorId>{tensor_named(p, "p"), tensor_named(p, "e"), tensor_named(p, "s")}));
  const RowPassing one = passing(256 << 20);
  EXPECT_EQ(one.kept, std::set<TensorId>{tensor_named(p, "p")});
  EXPECT_TRUE(one.again.empty());
  EXPECT_FALSE(one.too_much);
}

TEST(SpillOrRecompute, WhatWaitsForOtherHeadsIsKeptOnce) {
  const Graph graph = layer(2, 256, 48, 4);
  CpuMachine machine = small_caches(2, 160 << 10);
  const Program p = default_schedule(graph, machine);
  EXPECT_EQ(count_moves(p, "split_axis"), 2u) << print(p);
  EXPECT_EQ(whole_scores(p, 2 * 256 * 48), 1u) << print(p);
  expect_faithful(p, graph);
}

TEST(SpillOrRecompute, WhatIsTooMuchToKeepIsComputedAgain) {
  for (const int64_t rows : {256, 259}) {
    const Graph graph = layer(2, rows, 48, 4);
    CpuMachine machine = small_caches(2, 160 << 10);
    machine.kept_bytes = 0;
    const Program p = default_schedule(graph, machine);
    EXPECT_EQ(count_moves(p, "split_axis"), 2u) << print(p);
    EXPECT_GE(count_moves(p, "rematerialize"), 2u) << print(p);
    EXPECT_EQ(whole_scores(p, 2 * rows * 48), 0u) << print(p);
    expect_faithful(p, graph);
  }
}

// Values of the forward that the backward alone reads are not there twice.
TEST(SpillOrRecompute, WhatOnlyTheBackwardReadsIsNotThereTwice) {
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
    CpuMachine machine = small_caches(2, 160 << 10);
    machine.kept_bytes = kept;
    expect_faithful(default_schedule(graph, machine), graph);
  }
}

TEST(SpillOrRecompute, WhatIsComputedFasterThanItIsMovedIsNotKept) {
  const Program p = plain(layer(2, 256, 48, 4));
  const auto kept = [&](double memory_gb_per_core) {
    CpuMachine machine = small_caches(2, 160 << 10);
    machine.memory_gb_per_core = memory_gb_per_core;
    const RowReads reads(p, machine);
    const RowStages common = stages_in_common(reads, tensor_named(p, "s"), {1, {0}}, {});
    const RowPassing passing = *passing_of(reads, common, levels_of(reads, common, {}), {});
    EXPECT_FALSE(passing.too_much);
    EXPECT_EQ(passing.again.empty(), !passing.kept.empty());
    return !passing.kept.empty();
  };
  EXPECT_TRUE(kept(1e6));
  EXPECT_FALSE(kept(1e-3));
}

}  // namespace
}  // namespace adjit::sched
