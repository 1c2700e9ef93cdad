// tests/autosched/cpu/tile/stores_test.cpp -- what a tile's results cost after its last step.
#include <gtest/gtest.h>

#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/thresholds.hpp"
#include "runtime/graph/text.hpp"
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
  EXPECT_EQ(once.model.storing({4, 2, 1}), 0);
  EXPECT_EQ(again.model.storing({4, 2, 1}), 2.0 * 96 * 64 / 8) << "a vector loaded and stored";
}

TEST(TileStores, LanesApartAreStoredOneByOneOrInPiecesOfRows) {
  const Graph graph = product_of(64, 61);
  const Modelled across(graph, 0);
  EXPECT_EQ(across.model.stored_apart({2, 1, 1}), CoreCosts().apart_store_cycles);
  EXPECT_EQ(across.model.stored_apart({2, 4, 1}), CoreCosts().row_store_cycles)
      << "four neighbours at once";
  EXPECT_EQ(across.model.storing({2, 1, 1}), 64 * 61 * CoreCosts().apart_store_cycles);
}

// 16 rows of 4096 bytes fall into one set of L1.
TEST(TileStores, RowsThatDriveEachOtherOutCostMore) {
  const Modelled pages(product_of(64, 1024), 0), beside(product_of(64, 1040), 0);
  EXPECT_GT(pages.model.stored_apart({2, 1, 1}), beside.model.stored_apart({2, 1, 1}));
  EXPECT_GT(pages.model.stored_apart({2, 4, 1}), beside.model.stored_apart({2, 4, 1}));
}

TEST(TileStores, LanesOfTheReductionAreFoldedTogether) {
  const Modelled folded(product_of(64, 61), 2);
  EXPECT_GT(folded.model.folding({1, 1, 1}), 4 * folded.model.folding({2, 4, 1}))
      << "eight results share the wait for the last step";
  EXPECT_LT(folded.model.folding({1, 8, 1}), folded.model.folding({8, 1, 1}))
      << "neighbours are stored together";
  EXPECT_EQ(folded.model.storing({2, 4, 1}), 64 * 61 * folded.model.folding({2, 4, 1}));
}

}  // namespace
}  // namespace adjit::sched
