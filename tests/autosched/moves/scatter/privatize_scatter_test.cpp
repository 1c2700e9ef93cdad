// tests/autosched/moves/scatter/privatize_scatter_test.cpp -- parts of a scatter that do not share
// an element.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph histogram(const std::string& combiner, const std::string& start = "") {
  return parse_graph(
      "def f(float(10, 3) x, int64(10, 3) n, float(4) h0) -> (h) {\n"
      "  scatter float(4) h(n(i, j)) " +
      combiner + "=[drop] x(i, j)" + start + " where i in 0:10, j in 0:3\n}");
}

TEST(SplitScatter, EvenAndRaggedPartsOfEveryCombiner) {
  for (const char* combiner : {"+", "*", "max", "min"})
    for (const char* start : {"", " from h0"})
      for (int64_t parts : {2, 3, 5, 10}) {
        const Graph graph = histogram(combiner, start);
        const Program p = plain(graph);
        const Program split = privatize_scatter(p, scatter_in(p), 0, parts);
        SCOPED_TRACE(parts);
        expect_faithful(split, graph);
        const Stage& part = split.graph.stages[scatter_in(split)];
        EXPECT_EQ(split.graph.info(part.results[0]).shape, (std::vector<int64_t>{parts, 4}));
        EXPECT_TRUE(split.graph.pool.is(part.target[0], Op::Axis));
      }
}

TEST(SplitScatter, TenPointsInFourPartsAreFourOfThree) {
  const Graph graph = histogram("+");
  const Program p = plain(graph);
  const Program split = privatize_scatter(p, scatter_in(p), 0, 4);
  const Domain& domain = split.graph.stages[scatter_in(split)].domain;
  EXPECT_EQ(domain.extents[0] * domain.extents[1], 12);
  EXPECT_FALSE(domain.is_box());
  expect_faithful(split, graph);
}

// What is computed in the scatter's loops has no place in the parts' loops.
TEST(SplitScatter, StagesAttachedToItAreNotDropped) {
  const Graph graph = parse_graph(
      "def f(float(6, 8) x, int64(6) n) -> (h) {\n"
      "  t(i, j) = sin(x(i, j))\n"
      "  scatter float(8, 4) h(j, n(i)) +=[drop] t(i, j) where i in 0:6, j in 0:8\n}");
  const Program p = plain(graph);
  const Program attached = compute_at(p, 0, scatter_in(p), 1);
  expect_faithful(attached, graph);
  expect_refused([&] { privatize_scatter(attached, scatter_in(attached), 0, 2); },
                 "split it before attaching");
  expect_refused([&] { scatter_layout(attached, scatter_in(attached), 0); },
                 "before attaching others to it");
  expect_faithful(privatize_scatter(p, scatter_in(p), 0, 2), graph);
}

TEST(SplitScatter, IsRefused) {
  const Graph graph = histogram("");
  const Program sets = plain(graph);
  expect_refused([&] { privatize_scatter(sets, scatter_in(sets), 0, 2); }, "no partial results");
  const Program p = plain(histogram("+"));
  expect_refused([&] { privatize_scatter(p, scatter_in(p), 2, 2); }, "no such axis");
  expect_refused([&] { privatize_scatter(p, scatter_in(p), 1, 4); }, "2 parts to one a point");
  expect_refused([&] { privatize_scatter(p, scatter_in(p), 0, 1); }, "2 parts to one a point");
  expect_refused([&] { privatize_scatter(plain(matmul_graph(2, 2, 2)), 0, 0, 2); }, "no scatter");
}

}  // namespace
}  // namespace adjit::sched
