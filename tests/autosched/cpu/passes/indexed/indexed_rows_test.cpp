// tests/autosched/cpu/passes/indexed/indexed_rows_test.cpp -- where the default schedule takes rows
// that data names as rows.
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"

#include "autosched/search/scheduler.hpp"
#include "tests/autosched/indexed_rows.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr CpuMachine kTarget{.cores = 2, .vector_bits = 512};

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

TEST(IndexedRows, SumsAreComputedWhereTheyAreRead) {
  const Graph graph = images(12, 24, 64);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "gather_reduce")) << print(p);
  const Nest& y = kernel_of(p, "y");
  ASSERT_EQ(y.attached.size(), 3u) << print(p);  // weights, places, rows
  EXPECT_EQ(y.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(y.loops.back().axis, 2u) << "lanes of neighbouring points";
  const std::vector<Loop>& weights = y.attached.front().nest.loops;
  ASSERT_EQ(weights.size(), 3u) << print(p);
  EXPECT_EQ(weights[1].kind, LoopKind::Unrolled) << "corners share what they compute";
  EXPECT_EQ(weights[2].kind, LoopKind::Vector);
  const Nest& row = y.attached.back().nest;
  EXPECT_EQ(row.spans, (std::vector<int64_t>{1, 1, 64, 12, 2, 2}));
  EXPECT_EQ(row.loops.back().axis, 3u) << "lanes along a row";
  EXPECT_EQ(row.loops.back().trips, 16);
  EXPECT_EQ(p.graph.info(p.graph.stages[stage_of(p, "x_packed")].results[0]).shape.back(), 16);
  expect_faithful(p, graph);
}

TEST(IndexedRows, LongRowsOfPointsComeInBlocks) {
  const Graph graph = images(16, 4, 1024);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "gather_reduce")) << print(p);
  EXPECT_EQ(kernel_of(p, "y").attached.back().nest.spans[2], 128) << print(p);
  expect_faithful(p, graph);
}

TEST(IndexedRows, NotOfShortOnesAndNotWithoutLanes) {
  EXPECT_FALSE(has_move(default_schedule(images(4, 24, 64), kTarget), "gather_reduce"));
  EXPECT_FALSE(has_move(default_schedule(images(12, 96, 12), kTarget), "gather_reduce"));
}

TEST(IndexedRows, ScattersTakeValuesOfWholeRows) {
  const Graph graph = flow_gradient(3, 4, 32, false);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "scatter_accumulate")) << print(p);
  const size_t scatter = scatter_in(p);
  EXPECT_EQ(p.graph.info(p.graph.stages[scatter].results[0]).shape.back(), 16);
  const Nest& nest = nest_of(p, scatter);
  EXPECT_EQ(nest.attached.size(), 4u) << print(p);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(nest.loops.back().axis, 5u) << "lanes along a row";
  EXPECT_EQ(nest.loops[nest.loops.size() - 2].kind, LoopKind::Unrolled) << "all corners at once";
  expect_faithful(p, graph);
}

TEST(IndexedRows, ScattersOfRowsThatAreNoVectorsStayAsTheyAre) {
  // Twelve elements that lie so: masked stores, and what reads them again waits.
  const Graph graph = flow_gradient(3, 4, 32);
  const Program p = default_schedule(graph, kTarget);
  EXPECT_FALSE(has_move(p, "scatter_accumulate"));
  expect_faithful(p, graph);
}

TEST(IndexedRows, ValuesOfPartOfARow) {
  const Graph graph = parse_graph(
      "def f(float(64, 256, 8) d, int64(64, 256) n, float(64, 256, 2) w) -> (h) {\n"
      "  scatter float(40, 16) h(max(min(n(b, i) + k, 39), 0), c) +=! d(b, i, c) * (w(b, i, k) + "
      "1.0) "
      "where b in 0:64, i in 0:256, c in 0:8, k in 0:2\n}");
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "scatter_accumulate")) << print(p);
  expect_faithful(p, graph);
}

// Lists of points, in blocks that need not be powers of two, of every width of lanes.
TEST(IndexedRows, BlocksOfAnySize) {
  for (const char* type : {"float", "double"})
    for (const int64_t points : {16384, 25000, 30000, 50000})
      for (const int bits : {128, 256, 512}) {
        const std::string t = type, n = std::to_string(points);
        const Graph graph =
            parse_graph("def f(" + t + "(48, 17) x, " + t + "(" + n + ") at, " + t + "(48, " + n +
                        ") v) -> (y) { y(p) +=! x(r_c, max(min(int64(floor(at(p))) + r_a + r_b, "
                        "16), 0)) * v(r_c, p) "
                        "* select(r_a == 0, at(p), 0.5) * (at(p) - 0.25) where p in 0:" +
                        n + ", r_a in 0:2, r_b in 0:2, r_c in 0:48 }");
        const CpuMachine machine{.cores = 2, .vector_bits = bits};
        EXPECT_NO_THROW(default_schedule(graph, machine)) << type << " " << points << " " << bits;
      }
}

// The sum along rows is a product with reuse itself: its operands are not copied again.
TEST(IndexedRows, SumsAlongRowsThatAreProducts) {
  const Graph graph = parse_graph(
      "def f(float(16, 5, 5) x, int64(64, 3) I, float(32, 16, 64) d, float(3, 2) q) -> (y) {\n"
      "  y(b, z) +=! d(r_x, r_c, z) * q(r_n, b) * x(r_c, max(min(I(z, r_n) + r_m, 4), 0), r_m + "
      "r_n) "
      "where b in 0:2, z in 0:64, r_x in 0:32, r_c in 0:16, r_m in 0:2, r_n in 0:3\n}");
  const Program p = default_schedule(graph, kTarget);
  EXPECT_TRUE(has_move(p, "gather_reduce")) << print(p);
  expect_faithful(p, graph);
}

TEST(IndexedRows, BesideRowsInBlocks) {
  const Graph graph = parse_graph(
      "def f(float(2, 24, 20) x, float(2, 16, 64) t, float(2, 24, 16, 64) d, float(4096, 128) a, "
      "float(128, 512) w) -> (y, g) {\n"
      "  y(b, i, j) +=! d(b, r_c, i, j) * x(b, r_c, max(min(r_k + int64(floor(t(b, i, j))), 19), "
      "0)) "
      "* select(r_k == 0, 1.0 - t(b, i, j), t(b, i, j)) where b in 0:2, i in 0:16, j in 0:64, r_c "
      "in "
      "0:24, r_k in 0:2\n"
      "  p(i, j) +=! a(i, r) * w(r, j)\n  s(i, j) = tanh(p(i, j))\n"
      "  g(i, j) +=! s(i, r) * w(j, r)\n}");
  const Program p = default_schedule(graph, kTarget);
  for (const char* move : {"gather_reduce", "make_adjacent"})
    EXPECT_TRUE(has_move(p, move)) << print(p);
}

TEST(IndexedRows, WholeVectors) {
  EXPECT_EQ(whole_row(12, 16), 16);
  EXPECT_EQ(whole_row(16, 16), 16);
  EXPECT_EQ(whole_row(9, 16), 9) << "almost twice as much";
  EXPECT_EQ(whole_row(45, 16), 48);
}

}  // namespace
}  // namespace adjit::sched
