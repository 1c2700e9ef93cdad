// tests/autosched/gpu/invert_scatters_test.cpp -- which scatters are inverted, which are
// privatised, and which stay.
#include "autosched/gpu/invert_scatters.hpp"

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/segment_loop.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

Graph table(int64_t points, int64_t rows, int64_t columns, const std::string& how = "+=[drop]") {
  const std::string p = std::to_string(points), r = std::to_string(rows),
                    c = std::to_string(columns);
  return parse_graph("def f(float(" + p + ", " + c + ") g, int64(" + p +
                     ") n) -> (d) {\n  scatter float(" + r + ", " + c + ") d(n(p), c) " + how +
                     " g(p, c) where p in 0:" + p + ", c in 0:" + c + "\n}");
}

Program passed(const Graph& graph, const GpuMachine& machine) {
  return invert_scatters(initial_program(graph, machine), machine);
}

TEST(InvertScatters, GradientsOfTablesAreInverted) {
  const Program program = passed(table(65536, 50000, 512), kGpu);
  EXPECT_TRUE(has_move(program, "invert"));
  EXPECT_TRUE(has_move(passed(table(8192, 50000, 128, "=[drop]"), kGpu), "invert"))
      << "the last writer of each element, too";
}

// Elements look at all points for fewer values of an index than sorting them takes.
TEST(InvertScatters, FewRowsAreGathered) {
  for (const int64_t rows : {10, 300}) {
    const Program program = passed(table(65536, rows, 4), kGpu);
    EXPECT_TRUE(has_move(program, "scatter_to_gather")) << rows;
    EXPECT_FALSE(has_move(program, "invert")) << rows;
  }
  EXPECT_TRUE(has_move(passed(table(65536, 10, 4, "=[drop]"), kGpu), "invert"))
      << "the last of an element's points is asked for";
  EXPECT_TRUE(has_move(passed(table(65536, 5000, 4), kGpu), "invert"));
}

// What is taken is not predicted to be slower than what was left.
TEST(InvertScatters, HundredsOfRowsTakeWhatIsFaster) {
  const auto histogram = [](int64_t rows, const std::string& start) {
    const std::string r = std::to_string(rows);
    return parse_graph("def f(float(1048576) g, int64(1048576) n, float(" + r +
                       ") h) -> (d) {\n  scatter float(" + r + ") d(n(p)) +=[drop] g(p)" + start +
                       " where p in 0:1048576\n}");
  };
  for (const char* start : {"", " from h"})
    for (const int64_t rows : {257, 900, 1024, 1250, 1330}) {
      const Graph graph = histogram(rows, start);
      const double taken = predict(default_schedule(graph, kGpu), kGpu).microseconds;
      for (const size_t option : {1, 2}) {
        Choices other(Answers{{{Decision::Invert, "d"}, option}});
        const double microseconds = predict(schedule_with(graph, kGpu, other), kGpu).microseconds;
        EXPECT_LT(taken, 1.3 * microseconds) << rows << start << ", option " << option;
      }
    }
}

// The points of a cell's pixels are known: only its depths are compared.
TEST(InvertScatters, CellsOfAGridAreGathered) {
  const Graph graph = parse_graph(
      "def f(float(512, 512) x, int64(512, 512) z) -> (h) {\n"
      "  scatter float(8, 17, 17) h(z(i, j), (i + 16) // 32 + p, (j + 16) // 32 + q) +=[drop] "
      "x(i, j) where i in 0:512, j in 0:512, p in 0:1, q in 0:1\n}");
  const Program program = passed(graph, kGpu);
  EXPECT_TRUE(has_move(program, "scatter_to_gather"));
  const Stage& stage = program.graph.stages.back();
  EXPECT_EQ(stage.domain.extents, (std::vector<int64_t>{8, 17, 17, 32, 32}));
}

TEST(InvertScatters, FewWideRowsGetArraysOfTheirOwn) {
  const Program program = passed(table(65536, 10, 64), kGpu);
  EXPECT_TRUE(has_move(program, "privatize_scatter"));
  EXPECT_FALSE(has_move(program, "scatter_to_gather"));
  const Graph channels_first = parse_graph(
      "def f(float(64, 65536) g, int64(65536) n) -> (d) {\n  scatter float(64, 10) d(c, n(p)) "
      "+=[drop] g(c, p) where c in 0:64, p in 0:65536\n}");
  EXPECT_TRUE(has_move(passed(channels_first, kGpu), "scatter_to_gather"))
      << "neighbours are rows of one channel";
}

TEST(InvertScatters, OthersStay) {
  EXPECT_EQ(passed(table(100, 50000, 4), kGpu).moves_json, "[]") << "few points";
  EXPECT_EQ(passed(table(1000, 50, 300'000), kGpu).moves_json, "[]") << "threads enough";
  EXPECT_EQ(passed(parse_graph("def f(float(0, 4) g, int64(0) n) -> (d) {\n  scatter float(5, 4) "
                               "d(n(p), c) +=[drop] g(p, c) where p in 0:0, c in 0:4\n}"),
                   kSmallGpu)
                .moves_json,
            "[]");
}

// Far more rows than points are left to the points.
TEST(InvertScatters, RowsThatFewPointsWriteStay) {
  EXPECT_EQ(passed(table(1000, 1 << 20, 1), kGpu).moves_json, "[]");
}

// The keys of b, all rows 0, are what a's order starts from: that is written over.
TEST(InvertScatters, KeysAreNotWhatAScatterHasWrittenOver) {
  const Graph graph = parse_graph(
      "def f(float(400, 8) g, int64(400) n) -> (a, b) {\n"
      "  scatter float(500, 8) a(n(p), c) +=[drop] g(p, c) where p in 0:400, c in 0:8\n"
      "  scatter float(100, 8) b(0, c) +=[drop] g(p, c) where p in 0:400, c in 0:8\n}");
  Program p = initial_program(graph, kGpu);
  for (const TensorId output : graph.outputs) {
    const size_t stage = defining_stages(p.graph)[output.value];
    p = invert(std::move(p), stage, 32);
  }
  expect_faithful(p, graph);
}

// A vector of rows would go through as many segments.
TEST(InvertScatters, LanesAreNotRowsOfSegments) {
  const Graph graph = parse_graph(
      "def f(float(64, 512) g, int64(64, 512) n) -> (h) {\n"
      "  scatter float(64, 20000) h(b, n(b, t)) +=[drop] g(b, t) where b in 0:64, t in 0:512\n}");
  const Program program = default_schedule(graph, kGpu);
  ASSERT_TRUE(has_move(program, "invert"));
  EXPECT_EQ(loops_text(program, "h").find("vector"), std::string::npos) << loops_text(program, "h");
}

TEST(InvertScatters, WhatIsMadeIsNotInvertedAgain) {
  const Program once = passed(table(65536, 50000, 512), kGpu);
  EXPECT_EQ(invert_scatters(once, kGpu).moves_json, once.moves_json);
}

// Where a row of the result has segments of its own, so many threads as there are rows and columns
// do not take several columns each.
TEST(InvertScatters, LanesAreNotRowsOfSegmentsOfABatch) {
  const Program program = default_schedule(
      parse_graph("def f(float(64, 512) g, int64(512) n) -> (h) {\n"
                  "  scatter float(64, 16384) h(b, n(t)) +=[drop] g(b, t) where b in 0:64, t in "
                  "0:512\n}"),
      kGpu);
  ASSERT_TRUE(has_move(program, "invert"));
  const std::string loops = loops_text(program, "h");
  EXPECT_EQ(loops.find("vector"), std::string::npos) << loops;
  const size_t stage = program.graph.stages.size() - 1;
  const auto segments = segments_of(program.graph.pool, program.graph.stages[stage]);
  ASSERT_TRUE(segments.has_value());
  EXPECT_TRUE(segment_loop(program.graph, nest_of(program, stage), *segments).has_value()) << loops;
}

// Rows and columns are threads, the points of a row one thread's, whose result is stored once.
TEST(InvertScatters, RowsAndColumnsAreThreads) {
  const Program program = default_schedule(table(65536, 50000, 512), kGpu);
  EXPECT_TRUE(program.fallbacks.empty());
  EXPECT_EQ(loops_text(program, "d"),
            "parallel:i:50000 parallel:j:128 serial:r_k:65536 vector:j:4");
  EXPECT_EQ(loops_text(program, "d_block_sums"), "parallel:i:512 parallel:j:512 serial:r_k:128")
      << "pieces of long rows";
}

// Where neighbours are rows, channels are put next to each other: a thread goes through a row's
// places for as many as one access moves.
TEST(InvertScatters, ChannelsShareTheirPlaces) {
  const Graph graph = parse_graph(
      "def f(float(64, 65536) g, int64(65536) n) -> (h) {\n"
      "  scatter float(64, 65536) h(c, n(t)) +=[drop] g(c, t) where c in 0:64, t in 0:65536\n}");
  const Program program = default_schedule(graph, kGpu);
  EXPECT_EQ(loops_text(program, "h_transposed"),
            "parallel:i:65536 parallel:j:16 serial:r_k:65536 vector:j:4");
}

// A pass of the sort is three kernels: counts, sums, places.
TEST(InvertScatters, KernelsOfASort) {
  const Program program = default_schedule(table(65536, 50000, 512), kGpu);
  std::string kernels;
  for (const Kernel& kernel : program.kernels)
    kernels += stage_name(program.graph, program.graph.stages[kernel.root.stage]) + " ";
  EXPECT_EQ(kernels,
            "d_count d_start_8 d_order d_count_13 d_start_14 d_order_16 d_offsets d_block_sums d ");
}

TEST(InvertScatters, IsPricedByTheMeanSegment) {
  const Graph graph = table(65536, 50000, 512);
  const double inverted = predict(default_schedule(graph, kGpu), kGpu).microseconds;
  const double flat = predict(parallel(initial_program(graph, kGpu), 0, 1), kGpu).microseconds;
  EXPECT_LT(inverted, 2000);
  EXPECT_LT(inverted, flat);
}

TEST(InvertScatters, MeansTheGraph) {
  int inverted = 0, gathered = 0;
  for (const char* how : {"+=[drop]", "=[drop]", "max=[drop]"})
    for (const auto& [points, rows, columns] :
         {std::tuple{150, 40, 3}, {200, 5, 1}, {129, 7, 4}, {300, 2, 1}, {200, 12000, 2}}) {
      const Graph graph = table(points, rows, columns, how);
      const Program program = default_schedule(graph, kSmallGpu);
      EXPECT_TRUE(program.fallbacks.empty());
      inverted += has_move(program, "invert");
      gathered += has_move(program, "scatter_to_gather");
      testing::expect_same_results(graph, program, 3);
    }
  EXPECT_GT(inverted, 3);
  EXPECT_GT(gathered, 5);
}

}  // namespace
}  // namespace adjit::sched
