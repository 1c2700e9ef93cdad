// tests/autosched/cpu/tile/predicates_test.cpp -- what the tile model knows of triangles and of
// borders.
#include <gtest/gtest.h>

#include "autosched/cpu/tile/tile_model.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/modelled.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// y(i, j), 256 x 256, by sums over r that rows restrict; lanes along j.
Graph product(const std::string& rows) {
  return parse_graph(
      "def f(float(256, 256) a, float(256, 256) b) -> (y) { y(i, j) +=! a(i, r) * "
      "b(r, j) where i in 0:256, j in 0:256, r in 0:256" +
      rows + " }");
}

double visited(const std::string& rows, const Factors& factors) {
  const Graph graph = product(rows);
  return Modelled(graph, 1).model.predicates().visited(factors);
}

TEST(TileMasks, TilesBehindADiagonalAreLeftOut) {
  const Factors tile{8, 2, 1};
  EXPECT_EQ(visited("", tile), 1);
  for (const char* rows : {", r <= i", ", r >= i", ", j <= i", ", r <= j"}) {
    EXPECT_GT(visited(rows, tile), 0.5) << rows;
    EXPECT_LT(visited(rows, tile), 0.62) << rows;
    EXPECT_LE(visited(rows, {1, 1, 1}), visited(rows, {14, 2, 1})) << "wide tiles reach behind it";
  }
  EXPECT_LT(visited(", r <= i, i <= r + 20", tile), 0.35) << "a band: two rows, each for itself";
  EXPECT_EQ(visited(", r <= i + 200", tile), 1) << "a corner is no diagonal";
  EXPECT_EQ(visited(", j <= 100", tile), 1) << "of one axis";
}

TEST(TileMasks, FewTilesAskForADiagonal) {
  const Graph below = product(", r <= i"), corner = product(", r + i <= 60");
  EXPECT_LT(Modelled(below, 1).model.predicates().asking({8, 2, 1}), 0.1);
  EXPECT_EQ(Modelled(corner, 1).model.predicates().asking({8, 2, 8}), 1)
      << "hardly any tile is inside";
  // Half of the multiply-adds, not all of them with masks.
  const Graph whole = product("");
  const Factors tile{8, 2, 1};
  const double cycles = Modelled(below, 1).model.cycles(tile);
  EXPECT_LT(cycles, 0.8 * Modelled(whole, 1).model.cycles(tile));
  EXPECT_GT(cycles, 0.45 * Modelled(whole, 1).model.cycles(tile));
}

}  // namespace
}  // namespace adjit::sched
