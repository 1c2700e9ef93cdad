// tests/autosched/named_rows_test.cpp -- where the default schedule takes rows that data names as
// rows.
#include "autosched/named_rows.hpp"

#include "autosched/heuristic.hpp"
#include "tests/autosched/named_rows.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

constexpr Target kTarget{.cores = 2, .vector_bits = 512};

// x has its channels in front of the pixels.
Graph images(int64_t channels, int64_t height, int64_t width) {
  const std::string c = std::to_string(channels), h = std::to_string(height),
                    w = std::to_string(width);
  return parse_graph("def f(float(2, " + c + ", 9, 9) x, float(2, " + h + ", " + w +
                     ") t, float(2, " + c + ", " + h + ", " + w +
                     ") d) -> (y) {\n  y(b, i, j) +=! d(b, r_c, i, j) * x(b, r_c, max(min(r_k + "
                     "int64(floor(t(b, i, j))), 8), 0), max(min(i // 4 + r_l, 8), 0)) * select(r_l "
                     "== 0, 1.0 - t(b, "
                     "i, j), t(b, i, j)) where b in 0:2, i in 0:" +
                     h + ", j in 0:" + w + ", r_c in 0:" + c + ", r_k in 0:2, r_l in 0:2 }");
}

const Nest& kernel_of(const Program& p, const char* stage) {
  return p.kernels[find_nest(p, stage_of(p, stage))->kernel].root;
}

TEST(NamedRows, SumsAreComputedWhereTheyAreRead) {
  const Graph graph = images(12, 24, 64);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "sum_rows")) << print(p);
  const Nest& y = kernel_of(p, "y");
  ASSERT_EQ(y.attached.size(), 3u) << print(p);  // weights, places, rows
  EXPECT_EQ(y.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(y.loops.back().axis, 2u) << "lanes of neighbouring points";
  const Nest& row = y.attached.back().nest;
  EXPECT_EQ(row.spans, (std::vector<int64_t>{1, 1, 64, 12, 2, 2}));
  EXPECT_EQ(row.loops.back().axis, 3u) << "lanes along a row";
  EXPECT_EQ(row.loops.back().trips, 16);
  EXPECT_EQ(p.graph.info(p.graph.stages[stage_of(p, "x_packed")].results[0]).shape.back(), 16);
  expect_faithful(p, graph);
}

TEST(NamedRows, LongRowsOfPointsComeInBlocks) {
  const Graph graph = images(16, 4, 1024);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "sum_rows")) << print(p);
  EXPECT_EQ(kernel_of(p, "y").attached.back().nest.spans[2], 128) << print(p);
  expect_faithful(p, graph);
}

TEST(NamedRows, NotOfShortOnesAndNotWithoutLanes) {
  EXPECT_FALSE(has_move(default_schedule(images(4, 24, 64), kTarget), "sum_rows"));
  EXPECT_FALSE(has_move(default_schedule(images(12, 96, 12), kTarget), "sum_rows"));
}

TEST(NamedRows, ScattersTakeValuesOfWholeRows) {
  const Graph graph = flow_gradient(3, 4, 32, false);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "weigh_rows")) << print(p);
  const size_t scatter = scatter_in(p);
  EXPECT_EQ(p.graph.info(p.graph.stages[scatter].results[0]).shape.back(), 16);
  const Nest& nest = nest_of(p, scatter);
  EXPECT_EQ(nest.attached.size(), 4u) << print(p);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(nest.loops.back().axis, 5u) << "lanes along a row";
  EXPECT_EQ(nest.loops[nest.loops.size() - 2].kind, LoopKind::Unrolled) << "all corners at once";
  expect_faithful(p, graph);
}

TEST(NamedRows, ScattersOfRowsThatAreNoVectorsStayAsTheyAre) {
  // Twelve elements that lie so: masked stores, and what reads them again waits.
  const Graph graph = flow_gradient(3, 4, 32);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_FALSE(has_move(p, "weigh_rows"));
  expect_faithful(p, graph);
}

TEST(NamedRows, WholeVectors) {
  EXPECT_EQ(whole_row(12, 16), 16);
  EXPECT_EQ(whole_row(16, 16), 16);
  EXPECT_EQ(whole_row(9, 16), 9) << "almost twice as much";
  EXPECT_EQ(whole_row(45, 16), 48);
}

}  // namespace
}  // namespace adjit
