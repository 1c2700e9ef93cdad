// tests/autosched/gpu/products/product_tile_test.cpp -- which tile serves a product.
#include "autosched/gpu/products/product_tile.hpp"

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// "m x n x k, thread_m x thread_n, parts", or "none".
std::string tile_of(const Graph& plain) {
  const Program program = initial_program(plain, GpuMachine{});
  const std::optional<ProductTile> tile =
      product_tile(program, program.graph.stages.front(), GpuMachine{}, {.may_split = true});
  if (!tile) return "none";
  const auto text = [](int64_t number) { return std::to_string(number); };
  return text(tile->m) + "x" + text(tile->n) + "x" + text(tile->k) + " " + text(tile->thread_m) +
         "x" + text(tile->thread_n) + " " + text(tile->parts);
}
std::string tile_of(int64_t m, int64_t n, int64_t k) {
  return tile_of(product_graph(m, n, k, false, false));
}

TEST(ProductTile, LargeProductsHaveTheLargestTiles) {
  for (const int64_t extent : {2048, 4096})
    EXPECT_EQ(tile_of(product_graph(extent, extent, extent, true, false)), "128x128x16 8x8 1");
}

// What is on its way through registers takes some, of threads that have more of them.
TEST(ProductTile, OperandsThatAreTransposedHaveRegisters) {
  for (const auto& [a, b] : {std::pair(false, false), {false, true}, {true, true}})
    EXPECT_EQ(tile_of(product_graph(4096, 4096, 4096, a, b)), "128x128x16 16x8 1");
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

// Masks and values that wait for shared memory take registers: their threads have fewer results, or
// their blocks fewer threads.
TEST(ProductTile, MasksAndComputedOperandsTakeRegisters) {
  const std::string of = "def f(float(2048, 2048) a, float(2048, 2048) b) -> (c) {\n";
  EXPECT_EQ(tile_of(parse_graph(of + "c(i, j) +=! a(k, i) * b(k, j) }")), "128x128x16 8x8 1");
  EXPECT_NE(tile_of(parse_graph(of + "c(i, j) +=! a(k, i) * b(k, j) where k <= i }")),
            "128x128x16 8x8 1");
  const auto last = [&](const std::string& value) {
    const Program p = initial_program(
        parse_graph(of + "v(k, i) = " + value + "\n c(i, j) +=! v(k, i) * b(k, j) }"),
        GpuMachine{});
    return in_words(*product_tile(p, p.graph.stages.back(), GpuMachine{}));
  };
  EXPECT_EQ(last("a(k, i)"), "128 x 128 x 16, 8 x 8 a thread");
  EXPECT_NE(last("exp(a(k, i))"), "128 x 128 x 16, 8 x 8 a thread");
}

// Rows or columns that are fewer than a tile's are all of one.
TEST(ProductTile, FewRowsOrColumnsAreOneTile) {
  for (int64_t few = kFewestResults; few < kLeastResults; ++few) {
    SCOPED_TRACE(few);
    const std::string rows = tile_of(few, 4096, 4096), columns = tile_of(4096, few, 4096);
    EXPECT_EQ(rows.substr(0, rows.find('x')), std::to_string(few)) << rows;
    const std::string behind = columns.substr(columns.find('x') + 1);
    EXPECT_EQ(behind.substr(0, behind.find('x')), std::to_string(few)) << columns;
    EXPECT_NE(rows.back(), '1') << "and the sum is long enough for all multiprocessors: " << rows;
  }
  EXPECT_EQ(tile_of(4, 20, 4096), "none");
  EXPECT_EQ(tile_of(1, 4096, 4096), "none");
}

std::optional<ProductTile> tile_for(DType dtype, const GpuMachine& machine, const TileUse& use) {
  const std::string type = dtype == DType::Float64 ? "double" : "float";
  const Graph graph(parse_graph("def f(" + type + "(2048, 2048) a, " + type +
                                "(2048, 2048) b) -> (c) { c(i, j) +=! a(i, k) * b(k, j) }"));
  const Program program = initial_program(graph, machine);
  return product_tile(program, program.graph.stages.front(), machine, use);
}

// Where shared memory is short, tiles are smaller; where it is very short, there is none.
TEST(ProductTile, SharedMemoryHasRoom) {
  const auto bytes = [](const std::optional<ProductTile>& tile, bool keeps) {
    return 8 * ((keeps ? 2 : 3) * tile->k * (tile->m + tile->n) + (keeps ? tile->m * tile->n : 0));
  };
  for (const int64_t kilobytes : {32, 48, 99, 227}) {
    GpuMachine machine;
    machine.block_shared_bytes = kilobytes << 10;
    machine.shared_bytes = (kilobytes + 1) << 10;
    for (const bool keeps : {false, true}) {
      const auto tile = tile_for(DType::Float64, machine, {.keeps_results = keeps});
      ASSERT_TRUE(tile) << kilobytes;
      EXPECT_LE(bytes(tile, keeps), (kilobytes << 10) / (keeps ? 2 : 1)) << kilobytes;
    }
  }
  GpuMachine none;
  none.block_shared_bytes = none.shared_bytes = 1 << 10;
  EXPECT_FALSE(tile_for(DType::Float32, none, {}));
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
