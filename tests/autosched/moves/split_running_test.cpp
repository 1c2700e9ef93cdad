// tests/autosched/moves/split_running_test.cpp -- chunks of a reduction that runs on.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

constexpr const char* kDirections[] = {"r_k <= i", "r_k < i", "r_k >= i", "r_k > i"};

Graph running_along(const std::string& row, const std::string& by = "+",
                    const std::string& body = "x(b, r_k, j)") {
  return parse_graph("def f(float(2, 20, 3) x) -> (y) { y(b, i, j) " + by + "=! " + body +
                     " where b in 0:2, i in 0:20, j in 0:3, r_k in 0:20, " + row + " }");
}

TEST(SplitRunning, EvenAndRaggedChunksInFourDirections) {
  for (const char* row : kDirections)
    for (const int64_t parts : {2, 3, 6, 10}) {
      SCOPED_TRACE(std::string(row) + " in " + std::to_string(parts));
      const Graph graph = running_along(row);
      expect_faithful(split_running(plain(graph), 0, parts), graph);
      expect_faithful(split_running(plain_on_gpu(graph), 0, parts), graph);
    }
}

TEST(SplitRunning, TheStagesAreThree) {
  const Program p = split_running(plain(running_along("r_k >= i")), 0, 5);
  ASSERT_EQ(p.graph.stages.size(), 4u);
  const auto shape = [&](size_t s) { return p.graph.info(p.graph.stages[s].results[0]).shape; };
  EXPECT_EQ(shape(0), (std::vector<int64_t>{2, 5, 3})) << "totals";
  EXPECT_EQ(shape(1), (std::vector<int64_t>{2, 5, 3})) << "what comes before";
  EXPECT_EQ(shape(2), (std::vector<int64_t>{2, 5, 4, 3})) << "chunks";
  EXPECT_EQ(stage_name(p.graph, p.graph.stages[3]), "y");
  const Running* starts = running_of(p.graph, p.graph.stages[1]);
  ASSERT_TRUE(starts);
  EXPECT_TRUE(starts->axis == 1 && starts->reverse && starts->exclusive);
  const Running* chunks = running_of(p.graph, p.graph.stages[2]);
  ASSERT_TRUE(chunks);
  EXPECT_TRUE(chunks->axis == 2 && chunks->reverse && !chunks->exclusive);
  EXPECT_FALSE(running_of(p.graph, p.graph.stages[0]));
  EXPECT_FALSE(running_of(p.graph, p.graph.stages[3]));
}

// Chunks that are as long as each other lie where the results do.
TEST(SplitRunning, NothingIsCopied) {
  const Graph graph = running_along("r_k <= i");
  const Program even = split_running(plain(graph), 0, 5);
  expect_faithful(alias_reshape(even, 3), graph);
  expect_refused([&] { alias_reshape(split_running(plain(graph), 0, 3), 3); }, "in their order");
}

TEST(SplitRunning, EveryCombinerWithPartialResults) {
  for (const char* by : {"+", "*", "max", "min"})
    for (const char* row : kDirections) {
      const Graph graph = running_along(row, by, "0.5 * x(b, r_k, j)");
      expect_faithful(split_running(plain(graph), 0, 3), graph);
    }
  for (const char* row : kDirections) {
    const Graph graph = parse_graph(
        "def f(bool(20) x) -> (y, z) { y(i) any=! x(r) where i in 0:20, r in 0:20, " +
        std::string(row).replace(0, 3, "r") + "\n z(i) all=! x(r) where i in 0:20, r in 0:20, " +
        std::string(row).replace(0, 3, "r") + " }");
    expect_faithful(split_running(split_running(plain(graph), 1, 4), 0, 3), graph);
  }
}

// What comes before the chunks runs on itself.
TEST(SplitRunning, ChunksOfChunks) {
  for (const char* row : kDirections) {
    const Graph graph = running_along(row);
    const Program once = split_running(plain(graph), 0, 4);
    expect_faithful(split_running(once, 1, 2), graph);
    expect_faithful(split_running(once, 2, 2), graph);
  }
}

// Totals of half types are as wide as what adds up: nothing is rounded but the results.
TEST(SplitRunning, HalfTypesAreRoundedOnce) {
  const Graph graph = parse_graph(
      "def f(bfloat16(64) x) -> (y) { y(i) +=! x(r) where i in 0:64, r in 0:64, r <= i }");
  const Program p = split_running(plain(graph), 0, 4);
  EXPECT_EQ(p.graph.info(p.graph.stages[0].results[0]).dtype, DType::Float32);
  EXPECT_EQ(p.graph.info(p.graph.stages[1].results[0]).dtype, DType::Float32);
  testing::expect_same_results(graph, p, 1);
}

TEST(SplitRunning, IsRefused) {
  const Program p = plain(running_along("r_k <= i"));
  expect_refused([&] { split_running(p, 0, 1); }, "2 parts to one for 2 points");
  expect_refused([&] { split_running(p, 0, 11); }, "2 parts to one for 2 points");
  expect_refused([&] { split_running(plain(matmul_graph(2, 2, 2)), 0, 2); }, "does not run on");
  const Graph winner = parse_graph(
      "def f(float(20) x) -> (v, k) { (v, k)(i) argmax=! (x(r), int32(r)) where i in 0:20, "
      "r in 0:20, r <= i }");
  expect_refused([&] { split_running(plain(winner), 0, 2); }, "no partial results");
}

}  // namespace
}  // namespace adjit::sched
