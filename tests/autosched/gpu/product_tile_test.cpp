// tests/autosched/gpu/product_tile_test.cpp -- which tile serves a product.
#include "autosched/gpu/product_tile.hpp"

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// "m x n x k, thread_m x thread_n, parts", or "none".
std::string tile_of(const Graph& plain) {
  const LoweredGraph graph(plain);
  const std::optional<ProductTile> tile =
      product_tile(graph, graph.stages.front(), GpuMachine{}, true);
  if (!tile) return "none";
  const auto text = [](int64_t number) { return std::to_string(number); };
  return text(tile->m) + "x" + text(tile->n) + "x" + text(tile->k) + " " + text(tile->thread_m) +
         "x" + text(tile->thread_n) + " " + text(tile->parts);
}
std::string tile_of(int64_t m, int64_t n, int64_t k) {
  return tile_of(product_graph(m, n, k, false, false));
}

TEST(ProductTile, LargeProductsHaveTheLargestTiles) {
  EXPECT_EQ(tile_of(4096, 4096, 4096), "128x128x16 8x8 1");
  EXPECT_EQ(tile_of(2048, 2048, 2048), "128x128x16 8x8 1");
}

// Else most multiprocessors would have nothing to do.
TEST(ProductTile, SmallOnesHaveSmallTilesOrPartsOfTheSum) {
  EXPECT_NE(tile_of(512, 512, 512).substr(0, 7), "128x128");
  const std::string long_sum = tile_of(128, 128, 65536);
  EXPECT_GE(std::stoll(long_sum.substr(long_sum.rfind(' '))), 32) << long_sum;
}

TEST(ProductTile, PartsDivideTheSum) {
  const std::string odd = tile_of(128, 128, 65535);
  EXPECT_EQ(odd.substr(odd.rfind(' ')), " 1");
}

TEST(ProductTile, TilesAreNoLongerThanTheResults) {
  EXPECT_EQ(tile_of(4096, 12, 4096), "none");
  EXPECT_EQ(tile_of(9, 4096, 4096), "none");
  for (const int64_t n : {16, 31, 32, 63}) {
    const std::string narrow = tile_of(4096, n, 4096);
    const std::string columns = narrow.substr(narrow.find('x') + 1);
    EXPECT_LE(std::stoll(columns), n) << narrow;
  }
}

TEST(ProductTile, EverySideOfSixteenHasOne) {
  for (const int64_t m : {16, 31, 40})
    for (const int64_t n : {16, 31, 40}) EXPECT_NE(tile_of(m, n, 16), "none") << m << " " << n;
}

TEST(ProductTile, ShortSumsAndOtherStagesHaveNone) {
  EXPECT_EQ(tile_of(parse_graph("def f(float(0, 64, 64) a, float(0, 64, 64) b) -> (c) {\n"
                                " c(i, m, n) +=! a(i, m, k) * b(i, k, n)\n}")),
            "none");
  EXPECT_EQ(tile_of(4096, 4096, 8), "none");
  EXPECT_EQ(tile_of(parse_graph("def f(float(64, 64) a) -> (c) { c(i) +=! a(i, k) }")), "none");
}

}  // namespace
}  // namespace adjit::sched
