// Two axes in one: what they compute stays the same, and lies where it did.
#include "autosched/analysis/access.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const char* const kBatch =
    "def main(float(3, 5, 7) x, float(7, 4) w) -> (y) {\n"
    "  p(i, j, k) +=! x(i, j, r) * w(r, k)\n"
    "  y(i, j, k) = exp(p(i, j, k))\n}";

TEST(MergeAxes, RowsOfABatch) {
  const LoweredGraph graph(parse_graph(kBatch));
  Program p = fuse_axes(plain(graph), 0, 0);
  const Stage& merged = p.graph.stages[stage_of(p, "p_merged")];
  EXPECT_EQ(merged.domain.extents, (std::vector<int64_t>{15, 4, 7}));
  EXPECT_TRUE(merged.domain.is_box());
  const Accesses accesses = accesses_of(p.graph, merged);
  EXPECT_EQ(accesses.reads[0].strides, (std::vector<int64_t>{7, 0, 1})) << "divisions cancel";
  expect_faithful(p, graph);
  const size_t apart = stage_of(p, "p");
  p = alias_reshape(std::move(p), apart);
  EXPECT_EQ(p.kernels.size(), 2u) << print(p);
  expect_faithful(p, graph);
}

TEST(MergeAxes, ColumnsAndAllAxes) {
  const Graph graph = parse_graph(kBatch);
  expect_faithful(fuse_axes(plain(graph), 0, 1), graph);
  Program all = fuse_axes(plain(graph), 0, 0);
  all = fuse_axes(std::move(all), 0, 0);
  EXPECT_EQ(all.graph.stages[0].domain.extents, (std::vector<int64_t>{60, 7}));
  expect_faithful(all, graph);
}

TEST(MergeAxes, BesideConditionsOnOthers) {
  const Graph graph = parse_graph(
      "def main(float(3, 5, 6) x) -> (y) {\n"
      "  y(i, j, k) +=! x(i, j, r) where i in 0:3, j in 0:5, k in 0:6, r in 0:6, r <= k, q0 = k // "
      "2, r + q0 >= 1\n}");
  expect_faithful(fuse_axes(plain(graph), 0, 0), graph);
}

TEST(MergeAxes, UnderConditions) {
  const Graph graph = parse_graph(
      "def main(float(3, 5, 6) x) -> (y) {\n"
      "  y(i, j, k) +=! x(i, j, r) where i in 0:3, j in 0:5, k in 0:6, r in 0:6, r <= k, q0 = k // "
      "2, r + q0 >= 1, j >= i, q0 + i >= j, j + k == 2 * q0 + i + 1\n}");
  for (const size_t axis : {0, 1}) expect_faithful(fuse_axes(plain(graph), 0, axis), graph);
  expect_faithful(fuse_axes(fuse_axes(plain(graph), 0, 1), 0, 0), graph);
}

TEST(MergeAxes, AnIndexThatIsTheNewAxisSaysSo) {
  const Graph graph = parse_graph(
      "def main(float(105) x, float(3, 5, 7) z) -> (y) {\n"
      "  y(i, j, k) = x((5 * i + j) * 7 + k) * z(i, j, k)\n}");
  const Program p = fuse_axes(fuse_axes(plain(graph), 0, 1), 0, 0);
  EXPECT_NE(print(p.graph).find("x(i) * z("), std::string::npos) << print(p.graph);
  expect_faithful(p, graph);
}

TEST(MergeAxes, IndicesAndConditionsAreSimplifiedBefore) {
  const Graph graph = parse_graph(
      "def main(float(4, 7) x) -> (y) {\n"
      "  y(p, i, j) = x((2 * i + p) - (2 * i + p + 1) // 2, j where (2 * i + p) // 2 < 4 && p < "
      "j)\n"
      "    where p in 0:2, i in 0:4, j in 0:7\n}");
  const Program p = fuse_axes(plain(graph), 0, 1);
  EXPECT_NE(print(p.graph).find("x(j // 7, j % 7 where i < j % 7)"), std::string::npos)
      << print(p.graph);
  expect_faithful(p, graph);
}

TEST(MergeAxes, OfAReduction) {
  const Graph graph = parse_graph(
      "def main(float(3, 5, 7) x, float(5, 7, 4) w) -> (y) {\n"
      "  y(i, j) +=! x(i, r, s) * w(r, s, j)\n}");
  const Program p = fuse_axes(plain(graph), 0, 2);
  ASSERT_EQ(p.graph.stages.size(), 1u);
  EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{3, 4, 35}));
  const Accesses accesses = accesses_of(p.graph, p.graph.stages[0]);
  EXPECT_EQ(accesses.reads[0].strides, (std::vector<int64_t>{35, 0, 1})) << "divisions cancel";
  expect_faithful(p, graph);
}

TEST(MergeAxes, OfAReductionInOrder) {
  const Graph graph = parse_graph(
      "def main(float(3, 5, 7) x) -> (v, k) {\n"
      "  (v, k)(i) argmax=! (x(i, r, s) * x(i, r, s), 7 * r + s)\n}");
  expect_faithful(fuse_axes(plain(graph), 0, 1), graph);
  const Graph conv = conv_graph(2, 3, 6, 5, 4, 1, true);
  Program p = fuse_axes(plain(conv), 0, 5);
  expect_faithful(p, conv);
  p = fuse_axes(std::move(p), 0, 4);
  EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{2, 4, 6, 5, 27}));
  expect_faithful(p, conv);
}

TEST(MergeAxes, WhatIsRefused) {
  const Graph graph = parse_graph(kBatch);
  expect_refused([&] { fuse_axes(plain(graph), 0, 2); }, "no two such");
  expect_refused([&] { fuse_axes(plain(graph), 0, 3); }, "no two such");
  expect_refused([&] { fuse_axes(plain(graph), 0, SIZE_MAX); }, "no two such");
  expect_refused([&] { fuse_axes(unroll(plain(graph), 0, 0, 2), 0, 0); }, "before loops");
  expect_refused([&] { fuse_axes(parallel(plain(graph), 0, 1), 0, 0); }, "before loops");
  const Graph empty = parse_graph("def main(float(3, 0) x) -> (y) { y(i, j) = exp(x(i, j)) }");
  expect_refused([&] { fuse_axes(plain(empty), 0, 0); }, "no points");
}

}  // namespace
}  // namespace adjit::sched
