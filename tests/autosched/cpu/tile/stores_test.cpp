// tests/autosched/cpu/tile/stores_test.cpp -- what a tile's results cost after its last step.
#include "autosched/cpu/tile/stores.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"

namespace adjit::sched {
namespace {

// y(i, j) with lanes along j, or along i, whose elements lie `columns` apart.
Graph product_of(int64_t rows, int64_t columns) {
  const std::string m = std::to_string(rows), n = std::to_string(columns);
  return parse_graph("def f(float(" + m + ", 64) a, float(64, " + n +
                     ") b) -> (y) { y(i, j) +=! a(i, r) * b(r, j) }");
}

TEST(TileStores, ContiguousLanesAreStoredForNothingAndResumedForTwo) {
  const Graph graph = product_of(96, 64);
  const Modelled once(graph, 1), again(graph, 1, {.passes = 4});
  EXPECT_EQ(storing(once.model.setting(), {4, 2, 1}), 0);
  EXPECT_EQ(storing(again.model.setting(), {4, 2, 1}), 2.0 * 96 * 64 / 8)
      << "a vector loaded and stored";
}

TEST(TileStores, LanesApartAreStoredOneByOneOrInPiecesOfRows) {
  const Graph graph = product_of(64, 61);
  const Modelled across(graph, 0);
  EXPECT_EQ(stored_apart(across.model.setting(), {2, 1, 1}), CoreCosts().apart_store_cycles);
  EXPECT_EQ(stored_apart(across.model.setting(), {2, 4, 1}), CoreCosts().row_store_cycles)
      << "four neighbours at once";
  EXPECT_EQ(storing(across.model.setting(), {2, 1, 1}), 64 * 61 * CoreCosts().apart_store_cycles);
}

// 16 rows of 4096 bytes fall into one set of L1.
TEST(TileStores, RowsThatDriveEachOtherOutCostMore) {
  const Modelled pages(product_of(64, 1024), 0), beside(product_of(64, 1040), 0);
  EXPECT_GT(stored_apart(pages.model.setting(), {2, 1, 1}),
            stored_apart(beside.model.setting(), {2, 1, 1}));
  EXPECT_GT(stored_apart(pages.model.setting(), {2, 4, 1}),
            stored_apart(beside.model.setting(), {2, 4, 1}));
}

TEST(TileStores, LanesOfTheReductionAreFoldedTogether) {
  const Modelled folded(product_of(64, 61), 2);
  EXPECT_GT(folding(folded.model.setting(), {1, 1, 1}),
            4 * folding(folded.model.setting(), {2, 4, 1}))
      << "eight results share the wait for the last step";
  EXPECT_LT(folding(folded.model.setting(), {1, 8, 1}), folding(folded.model.setting(), {8, 1, 1}))
      << "neighbours are stored together";
  EXPECT_EQ(storing(folded.model.setting(), {2, 4, 1}),
            64 * 61 * folding(folded.model.setting(), {2, 4, 1}));
}

// Lanes whose rows are whole pages apart fall into one set of the L1.
TEST(TileStores, StoresWhoseLinesLeaveTheFirstCache) {
  const auto stored = [](int64_t columns, const Factors& factors) {
    const std::string n = std::to_string(columns);
    const LoweredGraph g(parse_graph("def f(float(64, 64) x, float(64, " + n +
                                     ") w) -> (y) { y(i, j) +=! "
                                     "x(r, i) * w(r, j) where i in 0:64, j in 0:" +
                                     n + ", r in 0:64 }"));
    const Stage& stage = g.stages.back();
    const Accesses accesses = accesses_of(g, stage);
    const CpuMachine machine{.vector_bits = 512};
    const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, false};
    return stored_apart(TileSetting(problem, 0), factors);
  };
  EXPECT_GT(stored(1024, {2, 4, 1}), 4 * stored(1000, {2, 4, 1})) << "pieces of rows";
  EXPECT_GT(stored(1024, {2, 1, 1}), 3 * stored(1000, {2, 1, 1})) << "elements";
  EXPECT_EQ(stored(512, {2, 4, 1}), stored(500, {2, 4, 1})) << "half a page";
  EXPECT_GT(stored(512, {2, 1, 1}), 3 * stored(500, {2, 1, 1})) << "32 lines in two sets";
}

// Columns of the result as lanes: pieces of its rows where copies lie side by side, else elements.
TEST(TileStores, ResultsApartAreStoredInRows) {
  const auto stored = [](const std::string& result, const Factors& factors) {
    const LoweredGraph g(
        parse_graph("def f(float(64, 64) x, float(64, 64) w) -> (y) { y(" + result +
                    ") +=! x(r, i) * w(r, j) where i in 0:64, j in 0:64, r in 0:64 }"));
    const Stage& stage = g.stages.back();
    const Accesses accesses = accesses_of(g, stage);
    const CpuMachine machine{.vector_bits = 256};
    const TileProblem problem{g, stage, accesses, stage.domain.extents, machine, 0, false};
    return stored_apart(TileSetting(problem, 0), factors);
  };
  EXPECT_LT(stored("i, j", {2, 4, 1}), 0.5 * stored("i, j", {2, 3, 1}));
  EXPECT_EQ(stored("i, j", {2, 1, 1}), stored("i, j", {2, 3, 1}));
}

}  // namespace
}  // namespace adjit::sched
