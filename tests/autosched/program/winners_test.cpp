// tests/autosched/program/winners_test.cpp -- which second components tell the order of points.
#include "autosched/program/winners.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

bool tells(const std::string& place, const std::string& where = "") {
  const Graph graph = parse_graph(
      "def f(float(4, 6, 5) x, int64(6, 5) n) -> (v, k) {\n (v, k)(i) argmax=! (x(i, a, b), " +
      place + ") where i in 0:4, a in 0:6, b in 0:5" + where + "\n}");
  return tells_order(graph, graph.stages[0]);
}

TEST(Winners, PlacesThatGrowFromPointToPoint) {
  EXPECT_TRUE(tells("5 * a + b"));
  EXPECT_TRUE(tells("int32(5 * a + b)"));
  EXPECT_TRUE(tells("7 * a + b + 100 * i - 40"));
  EXPECT_TRUE(tells("5 * a + b", ", b <= a")) << "some of the points";
  EXPECT_FALSE(tells("4 * a + b")) << "two points have one place";
  EXPECT_FALSE(tells("a")) << "all b have one place";
  EXPECT_FALSE(tells("a + 6 * b")) << "along a within b";
  EXPECT_FALSE(tells("5 * a - b"));
  EXPECT_FALSE(tells("(5 * a + b) // 2"));
  EXPECT_FALSE(tells("n(a, b)"));
  EXPECT_FALSE(tells("int32(1000000000 * a + b)")) << "wraps";
}

TEST(Winners, OthersHaveNone) {
  const Graph sums = matmul_graph(2, 3, 4);
  EXPECT_FALSE(tells_order(sums, sums.stages[0]));
  EXPECT_TRUE(threads_may_reduce(sums, sums.stages[0]));
}

// Threads in any order of the axes: a point's place decides.
TEST(Winners, ThreadsShareThem) {
  const std::string rows = " where i in 0:4, a in 0:6, b in 0:5";
  for (const char* by : {"argmax", "argmin"}) {
    const Graph graph = parse_graph("def f(float(4, 6, 5) x) -> (v, k) {\n (v, k)(i) " +
                                    std::string(by) + "=! (x(i, a, b), 5 * a + b)" + rows + "\n}");
    Program p = plain_on_gpu(graph);
    expect_refused([&] { vectorize(p, 0, 2, 4); }, "one accumulator");
    expect_refused([&] { reorder(p, 0, std::vector<size_t>{0, 2, 1}); }, "in order");
    p = threads(p, 0, 1, 3);
    p = threads(p, 0, 2, 4);
    p = reorder(p, 0, std::vector<size_t>{0, 3, 1, 4, 2});  // b, a outside, their threads inside
    expect_faithful(parallel(p, 0, 1), graph);
  }
  const Graph graph = parse_graph(
      "def f(float(4, 6) x, int64(6) n) -> (v, k) { (v, k)(i) argmax=! (x(i, a), n(a)) }");
  expect_refused([&] { threads(plain_on_gpu(graph), 0, 1, 3); }, "one accumulator");
}

}  // namespace
}  // namespace adjit::sched
