// tests/autosched/cpu/passes/fuse_producers_test.cpp -- stages computed row by row where their
// readers run.
#include "autosched/cpu/passes/fuse_producers.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(RowGroups, ASoftmaxRunsRowByRow) {
  const Graph g = softmax_graph(16, 40);
  Choices own;
  const Program p = attach_rows(plain(g), {}, {}, false, own);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].root.attached.size(), 3u);
  expect_faithful(p, g);
  // Rows that do not fit stay apart: 128 KB are 32768 floats, 64 KB of several rows at once.
  EXPECT_EQ(attach_rows(plain(softmax_graph(16, 30000)), {}, {}, false, own).kernels.size(), 1u);
  EXPECT_GT(attach_rows(plain(softmax_graph(16, 40000)), {}, {}, false, own).kernels.size(), 1u);
  const auto planes = [&](int64_t side) {
    const std::string n = std::to_string(side);
    return attach_rows(plain(parse_graph("def f(float(9, " + n + ", " + n + ") x) -> (y) {\n" +
                                         " e(b, i, j) = exp(x(b, i, j))\n s(b) +=! e(b, r, t)\n" +
                                         " y(b, i, j) = e(b, i, j) / s(b)\n}")),
                       {}, {}, false, own)
        .kernels.size();
  };
  EXPECT_EQ(planes(100), 1u);
  EXPECT_GT(planes(150), 1u);
  // Contractions want tiles of several rows.
  EXPECT_EQ(attach_rows(plain(matmul_graph(16, 16, 16)), {}, {}, false, own).kernels.size(), 1u);
}

// Windows overlap from channel to channel, so rows of all channels are what goes together.
TEST(RowGroups, LoopsOfWindowsGoInside) {
  const auto grouped = [](int64_t channels) {
    const std::string n = std::to_string(channels), last = std::to_string(channels + 1);
    Choices own;
    return attach_rows(
        plain(parse_graph("def f(float(8, " + n + ", 56, 56) x) -> (w) {\n" +
                          " y(i, j, k, l) = exp(x(i, j, k, l))\n" +
                          " z(i, j, k, l) +=! y(i, j + r - 2, k, l) where i in 0:8, j in 0:" + n +
                          ", k in 0:56, l in 0:56, r in 0:5, j + r >= 2, j + r <= " + last + "\n" +
                          " w(i, j, k, l) = z(i, j, k, l) + x(i, j, k, l)\n}")),
        {}, {}, false, own);
  };
  const Program p = grouped(64);
  ASSERT_EQ(p.kernels.size(), 1u) << print(p);
  const Nest& root = p.kernels[0].root;
  EXPECT_EQ(root.loops[1].axis, 2u) << "rows outside channels";
  ASSERT_EQ(root.attached.size(), 2u);
  EXPECT_EQ(root.attached[0].depth, 2u);
  EXPECT_EQ(root.attached[0].nest.spans, (std::vector<int64_t>{1, 64, 1, 56}));
  EXPECT_EQ(root.attached[1].depth, 3u);
  EXPECT_EQ(grouped(1024).kernels.size(), 2u) << "too much for L1";
}

// Sums of short rows wait for each other: those of several rows go on side by side.
TEST(RowGroups, ShortRowsGoSideBySide) {
  Choices own;
  const auto rows_at_once = [&](int64_t rows, int64_t columns) {
    const Program p = attach_rows(plain(softmax_graph(rows, columns)), {}, {}, true, own);
    return p.kernels[0].root.attached.back().nest.spans.front();
  };
  EXPECT_EQ(rows_at_once(4096, 40), 16);
  EXPECT_EQ(rows_at_once(4096, 100), 8) << "of 1,024 points";
  EXPECT_EQ(rows_at_once(4095, 40), 15) << "divides the rows";
  EXPECT_EQ(rows_at_once(4099, 40), 1) << "a prime";
  EXPECT_EQ(rows_at_once(4096, 400), 1) << "long rows keep the processor busy";
  EXPECT_EQ(rows_at_once(64, 40), 8) << "few groups leave cores idle";
  for (const auto& [rows, columns] : {std::pair{256, 40}, {255, 33}, {96, 17}}) {
    const Graph g = softmax_graph(rows, columns);
    const Program p = default_schedule(g, kTwoCores);
    EXPECT_NE(p.moves_json.find("interleave"), std::string::npos) << print(p);
    expect_faithful(p, g);
  }
}

// Sums of four rows are stored as four neighbours, which a load of sixteen would wait for.
TEST(RowGroups, LanesAreNoMoreThanWasStoredTogether) {
  const Graph g = parse_graph(
      "def f(float(512, 40) x) -> (y) {\n s(i) +=! x(i, r)\n t(i) = 1 / s(i)\n"
      " y(i, j) = x(i, j) * t(i)\n}");
  const Program p = default_schedule(g, CpuMachine{2, 512});
  const Nest* sum = nullptr;
  const Nest* inverse = nullptr;
  for (const Nest::Attached& attached : nest_of(p, stage_of(p, "y")).attached)
    (attached.nest.stage == stage_of(p, "s") ? sum : inverse) = &attached.nest;
  ASSERT_TRUE(sum && inverse) << print(p);
  int64_t together = 1;
  for (const Loop& loop : sum->loops)
    if (loop.kind == LoopKind::Unrolled && loop.axis == 0) together *= loop.trips;
  ASSERT_EQ(inverse->loops.back().kind, LoopKind::Vector) << print(p);
  EXPECT_EQ(sum->loops.back().axis, 1u) << print(p);
  EXPECT_LE(inverse->loops.back().trips, together) << print(p);
  expect_faithful(p, g);
}

// Six points of a row leave most lanes empty: stages run one after the other, lanes across rows.
TEST(RowGroups, ShortRowsAreNotAttached) {
  EXPECT_EQ(default_schedule(softmax_graph(5000, 100), kTwoCores).kernels.size(), 1u);
  EXPECT_GT(default_schedule(softmax_graph(5000, 6), kTwoCores).kernels.size(), 1u);
}

// Sums down columns read across memory where a column at a time is wanted.
TEST(RowGroups, ColumnsAreNotAttached) {
  const auto kernels = [](const char* sum) {
    const Graph g = parse_graph(std::string("def f(float(300, 300) x) -> (y) { s(i) +=! x(") + sum +
                                ") where i in 0:300, r in 0:300\n"
                                "y(i, j) = x(i, j) / (s(i) + s(j)) where i in 0:300, j in 0:300 }");
    const Program p = default_schedule(g, kTwoCores);
    EXPECT_NO_THROW(verify(p));
    return p.kernels.size();
  };
  EXPECT_EQ(kernels("r, i"), 2u);
  const Graph rows = parse_graph(
      "def f(float(300, 300) x) -> (y) { s(i) max=! x(i, r) where i in 0:300, r in 0:300\n"
      "y(i, j) = x(i, j) / s(i) where i in 0:300, j in 0:300 }");
  EXPECT_EQ(default_schedule(rows, kTwoCores).kernels.size(), 1u);
  const Graph columns = parse_graph(
      "def f(float(300, 300) x) -> (y) { s(j) max=! x(r, j) where j in 0:300, r in 0:300\n"
      "y(i, j) = x(i, j) / s(j) where i in 0:300, j in 0:300 }");
  EXPECT_EQ(default_schedule(columns, kTwoCores).kernels.size(), 2u);
}

// The differences d between points are contiguous along their four coordinates, sums of which run
// over all points: a row of d for one coordinate would write every fourth element.
TEST(RowGroups, RowsThatCutLinesAreNotAttached) {
  const Graph g = parse_graph(
      "def f(float(37, 611) w, float(37, 4) a, float(611, 4) b) -> (x, y) {\n"
      " d(i, j, k) = w(i, j) * exp(a(i, k) - b(j, k))\n"
      " x(i, k) +=! d(i, r, k)\n y(j, k) +=! d(r, j, k)\n}");
  const Program p = default_schedule(g, CpuMachine{1, 256});
  EXPECT_TRUE(nest_of(p, stage_of(p, "x")).attached.empty()) << print(p);
  expect_faithful(p, g);
}

// A product of few columns still shares its rows' operand between them.
TEST(RowGroups, ThinProductsStayKernels) {
  const Graph g = parse_graph(
      "def f(float(304, 480) x, float(480, 4) w) -> (y) { p(i, j) +=! x(i, r) * w(r, j) where i in "
      "0:304, j in 0:4, r in 0:480\ny(i, j) = exp(p(i, j)) where i in 0:304, j in 0:4 }");
  EXPECT_EQ(default_schedule(g, kTwoCores).kernels.size(), 2u);
}

}  // namespace
}  // namespace adjit::sched
