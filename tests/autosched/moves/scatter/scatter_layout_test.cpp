// tests/autosched/moves/scatter/scatter_layout_test.cpp -- scatters into arrays that have another
// dimension innermost.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph image(const std::string& combiner, const std::string& start = "") {
  return parse_graph(
      "def f(float(2, 3, 10) x, int64(2, 10) n, float(2, 3, 4) h0) -> (h) {\n"
      "  scatter float(2, 3, 4) h(b, c, n(b, i)) " +
      combiner + "=[drop] x(b, c, i)" + start + " where b in 0:2, c in 0:3, i in 0:10\n}");
}

TEST(ScatterRows, OfEveryCombinerAndStart) {
  for (const char* combiner : {"+", "*", "max", "min", ""})
    for (const char* start : {"", " from h0"})
      for (size_t dimension : {0u, 1u}) {
        const Graph graph = image(combiner, start);
        const Program p = plain(graph);
        const Program rows = scatter_layout(p, scatter_in(p), dimension);
        SCOPED_TRACE(print(rows));
        expect_faithful(rows, graph);
        const Stage& stage = rows.graph.stages[scatter_in(rows)];
        EXPECT_EQ(rows.graph.info(stage.results[0]).shape,
                  (dimension == 0 ? std::vector<int64_t>{3, 4, 2} : std::vector<int64_t>{2, 4, 3}));
        EXPECT_TRUE(rows.graph.pool.is(stage.target.back(), Op::Axis));
        EXPECT_EQ(rows.graph.stages.size(), p.graph.stages.size() + 2);
      }
}

// What data names is next to the rows.
TEST(ScatterRows, RowsThatDataNamesLieCloseTogether) {
  const Graph graph = parse_graph(
      "def f(float(2, 3, 10) x, int64(2, 10) n) -> (h) {\n"
      "  scatter float(5, 3, 4, 2) h(n(b, i), c, min(i, 3), b) +=[drop] x(b, c, i) where b in 0:2, "
      "c in 0:3, i in 0:10\n}");
  const Program p = plain(graph);
  const Program rows = scatter_layout(p, scatter_in(p), 1);
  expect_faithful(rows, graph);
  const Stage& stage = rows.graph.stages[scatter_in(rows)];
  EXPECT_EQ(rows.graph.info(stage.results[0]).shape, (std::vector<int64_t>{4, 2, 5, 3}));
}

TEST(ScatterRows, RowsWithRoomBehind) {
  for (const char* start : {"", " from h0"})
    for (const int64_t width : {3, 4, 6}) {
      const Graph graph = image("+", start);
      const Program p = plain(graph);
      const Program rows = scatter_layout(p, scatter_in(p), 1, width);
      expect_faithful(rows, graph);
      const Stage& stage = rows.graph.stages[scatter_in(rows)];
      EXPECT_EQ(rows.graph.info(stage.results[0]).shape, (std::vector<int64_t>{2, 4, width}));
    }
  const Program p = plain(image("+"));
  expect_refused([&] { scatter_layout(p, scatter_in(p), 1, 2); }, "must have all elements");
  expect_refused([&] { scatter_layout(p, scatter_in(p), 1, 7); }, "at most twice as many");
}

TEST(ScatterRows, IsRefused) {
  const Program p = plain(image("+"));
  expect_refused([&] { scatter_layout(p, scatter_in(p), 2); }, "before the innermost");
  expect_refused([&] { scatter_layout(p, scatter_in(p), 7); }, "no such dimension");
  expect_refused([&] { scatter_layout(p, scatter_in(p), SIZE_MAX); }, "no such dimension");
  expect_refused([&] { scatter_layout(plain(matmul_graph(2, 2, 2)), 0, 0); }, "no scatter");
}

}  // namespace
}  // namespace adjit::sched
