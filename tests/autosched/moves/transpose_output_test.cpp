// Results with another dimension innermost: what they are stays the same, and lies where it did.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const char* const kWeights =
    "def main(float(2, 6, 5) d, float(2, 3, 7) x) -> (y) {\n"
    "  w(o, c, k) +=! d(r_n, o, r_x) * x(r_n, c, r_x + k) where o in 0:6, c in 0:3, k in 0:3, "
    "r_n in 0:2, r_x in 0:5\n"
    "  y(o, c, k) = exp(w(o, c, k))\n}";

TEST(TransposeResults, AnAxisGoesInnermost) {
  const Graph graph = parse_graph(kWeights);
  Program p = transpose_output(plain(graph), 0, 0);
  const Stage& made = p.graph.stages[stage_of(p, "w_transposed")];
  EXPECT_EQ(made.domain.extents, (std::vector<int64_t>{3, 3, 6, 2, 5}));
  EXPECT_EQ(p.graph.info(made.results[0]).shape, (std::vector<int64_t>{3, 3, 6}));
  expect_faithful(p, graph);
  expect_faithful(vectorize(p, stage_of(p, "w_transposed"), 2, 4), graph);
  expect_faithful(transpose_output(plain(graph), 0, 1), graph);
  expect_faithful(transpose_output(plain(graph), 1, 0), graph);
}

TEST(TransposeResults, UnderConditionsAndWithSeveralResults) {
  const Graph graph = parse_graph(
      "def main(float(3, 5, 6) x) -> (y, a, b) {\n"
      "  y(i, j, k) +=! x(i, j, r) where i in 0:3, j in 0:5, k in 0:6, r in 0:6, r <= k, q0 = i // "
      "2, r + q0 >= j - 2\n"
      "  (a, b)(i, j) argmax=! (x(i, j, r), r + j)\n}");
  for (const size_t axis : {0, 1}) expect_faithful(transpose_output(plain(graph), 0, axis), graph);
  expect_faithful(transpose_output(plain(graph), 1, 0), graph);
}

TEST(TransposeResults, WhatIsRefused) {
  const Graph graph = parse_graph(kWeights);
  expect_refused([&] { transpose_output(plain(graph), 0, 2); }, "not the last one");
  expect_refused([&] { transpose_output(plain(graph), 0, 3); }, "one of its results");
  expect_refused([&] { transpose_output(plain(graph), 0, SIZE_MAX); }, "one of its results");
  expect_refused([&] { transpose_output(unroll(plain(graph), 0, 0, 2), 0, 0); }, "before loops");
  expect_refused([&] { transpose_output(parallel(plain(graph), 0, 1), 0, 0); }, "before loops");
}

}  // namespace
}  // namespace adjit::sched
