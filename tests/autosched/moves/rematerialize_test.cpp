// tests/autosched/moves/rematerialize_test.cpp -- a stage computed a second time.
#include "autosched/moves/moves.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layers.hpp"

namespace adjit::sched {
namespace {

TEST(Rematerialize, LaterReadersReadTheCopy) {
  const Graph graph = parse_graph(kLayers);
  const Program start = plain(graph);
  const size_t a = stage_of(start, "a"), dp = stage_of(start, "dp");
  Program p = rematerialize(start, a, dp);
  EXPECT_EQ(names(p)[dp], "a_again");
  EXPECT_EQ(p.readers[graph.stages[a].results[0].value], (std::vector<size_t>{2}));
  expect_faithful(p, graph);
  // What the copy is computed from may be computed again as well.
  p = rematerialize(p, stage_of(p, "p"), dp);
  EXPECT_EQ(names(p)[dp], "p_again");
  EXPECT_EQ(names(p)[dp + 1], "a_again");
  expect_faithful(p, graph);
  EXPECT_NE(p.graph.stages[dp].region, p.graph.stages[dp + 1].region);
}

TEST(Rematerialize, OnlyTheResultsThatAreReadAgain) {
  const Graph graph = parse_graph(
      "def main(float(6, 9) x) -> (y, z) {\n"
      "  m(i) max=! x(i, r)\n"
      "  n(i) max=! x(i, r) * x(i, r)\n"
      "  y(i) = m(i) + n(i)\n"
      "  z(i) = n(i) * y(i)\n}");
  Program p = fuse_siblings(plain(graph), std::vector<size_t>{0, 1});
  ASSERT_EQ(p.graph.stages[0].results.size(), 2u);
  p = rematerialize(p, 0, 2);
  EXPECT_EQ(names(p)[2], "n_again");
  EXPECT_EQ(p.graph.stages[2].results.size(), 1u);
  expect_faithful(p, graph);
}

TEST(Rematerialize, Refuses) {
  const Graph graph = parse_graph(kLayers);
  const Program p = plain(graph);
  const size_t a = stage_of(p, "a");
  expect_refused([&] { rematerialize(p, a, stage_of(p, "b")); }, "does not read it");
  expect_refused([&] { rematerialize(p, a, 99); }, "does not read it");
  expect_refused([&] { rematerialize(p, a, stage_of(p, "q")); }, "nothing reads it before");
  expect_refused([&] { rematerialize(p, 99, 3); }, "no stage");
  const Program attached = compute_at(p, stage_of(p, "dq"), stage_of(p, "da"), 1);
  expect_refused([&] { rematerialize(attached, stage_of(p, "dq"), stage_of(p, "dv")); },
                 "together with");
  const Graph scattered = parse_graph(
      "def main(float(5) x, int64(5) at) -> (y, z) {\n"
      "  scatter float(5) y(at(i)) += x(i) where i in 0:5\n"
      "  z(i) = y(i) + x(i)\n}");
  const Program s = plain(scattered);
  expect_refused([&] { rematerialize(s, scatter_in(s), s.graph.stages.size() - 1); },
                 "scans and scatters");
}

}  // namespace
}  // namespace adjit::sched
