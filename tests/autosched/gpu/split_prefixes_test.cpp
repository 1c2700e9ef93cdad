// tests/autosched/gpu/split_prefixes_test.cpp -- which prefix reductions several threads share.
#include "autosched/gpu/split_prefixes.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr GpuMachine kTwoSmall{.multiprocessors = 2, .threads = 256};

Graph prefix_of_rows(int64_t rows, int64_t length, const std::string& by = "+") {
  const std::string n = std::to_string(length), m = std::to_string(rows);
  return parse_graph("def f(float(" + m + ", " + n + ") x) -> (y) { y(i, j) " + by +
                     "=! x(i, r) where i in 0:" + m + ", j in 0:" + n + ", r in 0:" + n +
                     ", r <= j }");
}
Graph prefix_of_columns(int64_t length, int64_t width, const std::string& by = "+",
                        const std::string& row = "r <= i") {
  const std::string n = std::to_string(length), m = std::to_string(width);
  return parse_graph("def f(float(" + n + ", " + m + ") x) -> (y) { y(i, j) " + by +
                     "=! x(r, j) where i in 0:" + n + ", j in 0:" + m + ", r in 0:" + n + ", " +
                     row + " }");
}

Program in_chunks(const Graph& graph, const GpuMachine& machine = kTwoSmall) {
  return split_long_prefixes(initial_program(graph, machine), machine);
}

// Where a reduction runs on: its extents, the axis along which it does in brackets.
std::string walks_of(const Program& p) {
  std::string text;
  for (const Stage& stage : p.graph.stages) {
    const Running* running = running_of(p.graph, stage);
    if (!running) continue;
    text += text.empty() ? "" : "; ";
    for (size_t a = 0; a < stage.domain.rank(); ++a) {
      const std::string extent = std::to_string(stage.domain.extents[a]);
      text += a == running->axis ? "[" + extent + "] " : extent + " ";
    }
  }
  return text;
}

TEST(SplitPrefixes, ABlockRunsOnAlongAChunk) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(2, 1 << 18))), "2 [8] ; 2 8 [32768] ");
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 1 << 24))), "1 [16] ; 1 16 [1048576] ")
      << "as many chunks as there is room for blocks";
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(16, 1 << 24))), "16 [16777216] ")
      << "rows are blocks enough";
}

TEST(SplitPrefixes, ChunksDivideTheAxisWhereTheyCan) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 400'000))), "1 [16] ; 1 16 [25000] ");
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 250'043))), "1 [16] ; 1 16 [15628] ")
      << "a prime number";
}

// Neighbouring threads have neighbouring columns: chunks are as long as leaves threads enough.
TEST(SplitPrefixes, ColumnsHaveLongChunks) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_columns(2048, 32))), "[8] 32 ; 8 [256] 32 ");
  EXPECT_EQ(walks_of(in_chunks(prefix_of_columns(256, 2))), "[16] 2 ; 16 [16] 2 ")
      << "16 points at least";
}

TEST(SplitPrefixes, MeanTheGraph) {
  for (const std::string row : {"r <= i", "r < i", "r >= i", "r > i"}) {
    const Graph columns = prefix_of_columns(256, 2, "+", row),
                prime = prefix_of_columns(257, 2, "max", row);
    EXPECT_EQ(walks_of(in_chunks(columns)), "[16] 2 ; 16 [16] 2 ");
    EXPECT_EQ(walks_of(in_chunks(prime)), "[17] 2 ; 17 [16] 2 ") << "the last one is shorter";
    for (const Graph& graph : {columns, prime}) expect_faithful(in_chunks(graph), graph);
  }
}

TEST(SplitPrefixes, OthersAreLeft) {
  EXPECT_EQ(walks_of(in_chunks(prefix_of_rows(1, 1 << 16))), "1 [65536] ") << "one block's";
  EXPECT_EQ(walks_of(in_chunks(prefix_of_columns(128, 4))), "[128] 4 ") << "short";
  const Graph winners = parse_graph(
      "def f(float(1024) x) -> (v, k) { (v, k)(i) argmax=! (x(r), int32(r)) where i in 0:1024, "
      "r in 0:1024, r <= i }");
  EXPECT_EQ(walks_of(in_chunks(winners)), "[1024] ");
  EXPECT_EQ(walks_of(in_chunks(total_graph(64, 64))), "");
}

}  // namespace
}  // namespace adjit::sched
