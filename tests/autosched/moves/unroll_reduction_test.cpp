// tests/autosched/moves/unroll_reduction_test.cpp -- a short sum written out.
#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(UnrollReduction, IsTheSumWrittenOut) {
  const Graph graph = parse_graph(
      "def main(float(6, 3) x, float(7, 3) y, float(3, 2) z) -> (d, e, f) {\n"
      "  d(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - y(j, r_k))\n"
      "  e(i) +=! x(i, r_k) + z(r_k, r_l) where i in 0:6, r_k in 0:3, r_l in 0:2\n"
      "  f(i) max=! x(i, r_k)\n}");
  Program p = plain(graph);
  for (size_t s : {0, 1}) p = unroll_reduction(std::move(p), s);
  for (size_t s : {0, 1}) {
    EXPECT_EQ(p.graph.stages[s].combiner.kind, CombinerKind::None);
    EXPECT_EQ(p.graph.stages[s].domain.reduction_rank(), 0u);
  }
  expect_faithful(p, graph);
  expect_faithful(replay(graph, p.moves_json, CpuMachine{2, 512}), graph);
  expect_refused([&] { unroll_reduction(plain(graph), 2); }, "only a sum");
  const Graph long_one = parse_graph("def main(float(6, 99) x) -> (d) { d(i) +=! x(i, r_k) }");
  expect_refused([&] { unroll_reduction(plain(long_one), 0); }, "too many terms");
  const Graph rows = parse_graph(
      "def main(float(6, 3) x) -> (d) { d(i) +=! x(i, r_k) where i in 0:6, r_k in 0:3, r_k <= i }");
  expect_refused([&] { unroll_reduction(plain(rows), 0); }, "conditions");
}

}  // namespace
}  // namespace adjit::sched
