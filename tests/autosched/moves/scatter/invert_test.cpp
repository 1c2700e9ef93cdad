// tests/autosched/moves/scatter/invert_test.cpp -- scatters as sums that each row makes of its
// points.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/scattered_tables.hpp"

namespace adjit::sched {
namespace {

bool has_stage(const Program& program, std::string_view name) {
  return std::ranges::any_of(program.graph.stages, [&](const Stage& stage) {
    return stage_name(program.graph, stage) == name;
  });
}

TEST(Invert, GivesTheBitsOfTheSerialScatter) {
  for (const char* how : {"+=[drop]", "*=[drop]", "max=[drop]", "min=[drop]", "=[drop]"})
    for (const char* start : {"", " from d0"})
      for (const int64_t chunk : {2, 5, 16}) {
        const Graph graph = table(29, 6, how, start);
        const Program program = inverted(graph, chunk);
        verify(program);
        for (const Spread spread : kSpreads) {
          const std::vector<Array> inputs = inputs_of(graph, 6, spread);
          expect_same_bits(interpret(graph, inputs), interpret(program, inputs));
        }
        expect_faithful(program, graph);
      }
}

// Rows without a whole piece have the bits of the serial scatter; others, sums in pieces.
TEST(Invert, LongRowsAreCombinedInPieces) {
  for (const char* how : {"+=[drop]", "*=[drop]", "max=[drop]", "min=[drop]"})
    for (const char* start : {"", " from d0"})
      for (const int64_t piece : {2, 3, 8, 29, 40}) {
        const Graph graph = table(29, 6, how, start);
        const Program program = inverted(graph, 8, piece);
        verify(program);
        EXPECT_EQ(has_stage(program, "d_block_sums"), piece <= 29);
        for (const Spread spread : kSpreads) {
          SCOPED_TRACE(std::string(how) + start + std::to_string(piece) +
                       std::to_string(static_cast<int>(spread)));
          const std::vector<Array> inputs = inputs_of(graph, 6, spread);
          const std::vector<Array> expected = interpret(graph, inputs),
                                   actual = interpret(program, inputs);
          if (how[0] == 'm' || piece > 29 || (spread == Spread::AllDistinct && piece > 5) ||
              spread == Spread::OutOfRange)
            expect_same_bits(expected, actual);
          else
            expect_close(expected, actual);
        }
        expect_faithful(program, graph);
      }
  expect_refused([] { inverted(table(9, 5, "=[drop]"), 4, 4); }, "no partial results");
  expect_refused([] { inverted(table(9, 5), 4, 1); }, "2 points or more");
}

// What starts from nothing is a reduction, others are scatters on top of what they start from.
TEST(Invert, RowsAndWhatWritesApartAreIndependent) {
  for (const char* start : {"", " from d0"}) {
    const Program program = inverted(table(29, 6, "+=[drop]", start), 8);
    const size_t order = scatter_in(program), owner = stage_of(program, "d");
    const Stage& stage = program.graph.stages[owner];
    EXPECT_EQ(stage.kind == StageKind::Compute, std::string(start).empty());
    EXPECT_EQ(has_stage(program, "d_start"), !std::string(start).empty());
    EXPECT_TRUE(segments_of(program.graph.pool, stage).has_value());
    EXPECT_EQ(stage.domain.extents, (std::vector<int64_t>{6, 3, 29}));
    EXPECT_TRUE(is_independent(program.graph, stage, 0));
    EXPECT_TRUE(is_independent(program.graph, stage, 1));
    EXPECT_FALSE(is_independent(program.graph, stage, 2));
    EXPECT_TRUE(is_independent(program.graph, program.graph.stages[order], 0)) << "a permutation";
    verify(parallel(program, owner, 2));
    verify(parallel(program, order, 1));
  }
}

// The last writer is one point: nothing is combined.
TEST(Invert, TheLastWriterIsOnePoint) {
  for (const char* start : {"", " from d0"}) {
    const Program program = inverted(table(29, 6, "=[drop]", start), 8);
    const Stage& stage = program.graph.stages[stage_of(program, "d")];
    EXPECT_EQ(stage.kind, StageKind::Compute);
    EXPECT_EQ(stage.domain.reduction_rank(), 0u);
    EXPECT_EQ(has_stage(program, "d_start"), !std::string(start).empty());
  }
}

// Two axes that are digits of one coordinate write apart, too.
TEST(Invert, DigitsOfACoordinateWriteApart) {
  for (const char* start : {"", " from h0"}) {
    const Graph graph = parse_graph(
        "def f(float(9, 3, 4) x, int64(9) n, float(5, 12) h0) -> (h) {\n  scatter float(5, 12) "
        "h(n(i), 4 * j + k) +=[drop] x(i, j, k)" +
        std::string(start) + " where i in 0:9, j in 0:3, k in 0:4\n}");
    const InvertedAxes axes = inverted_axes(graph, graph.stages[0]);
    EXPECT_EQ(axes.points, std::vector<size_t>{0});
    EXPECT_EQ(axes.apart, (std::vector<size_t>{1, 2}));
    for (const int64_t piece : {0, 2})
      expect_faithful(invert(plain(graph), scatter_in(plain(graph)), 4, piece), graph);
  }
  const Graph overlap = parse_graph(
      "def f(float(9, 3, 4) x, int64(9) n) -> (h) {\n  scatter float(5, 12) h(n(i), 3 * j + k) "
      "+=[drop] x(i, j, k) where i in 0:9, j in 0:3, k in 0:4\n}");
  EXPECT_TRUE(inverted_axes(overlap, overlap.stages[0]).apart.empty()) << "they meet";
  expect_faithful(invert(plain(overlap), scatter_in(plain(overlap)), 4), overlap);
}

// Elements that no row has are those of the start.
TEST(Invert, RowsOfAPartOfTheResult) {
  for (const char* how : {"+=[drop]", "=[drop]"}) {
    const Graph graph = parse_graph(
        std::string(
            "def f(float(9, 3) x, int64(9) n) -> (h) {\n  scatter float(5, 8) h(n(i), j + 2) ") +
        how + " x(i, j) where i in 0:9, j in 0:3\n}");
    const Program program = inverted(graph, 4);
    EXPECT_EQ(program.graph.stages.back().kind, StageKind::Scatter);
    expect_faithful(program, graph);
  }
}

// A batch and a flow's images: rows are numbered by several coordinates, of data or not.
TEST(Invert, RowsOfSeveralCoordinates) {
  for (const char* text :
       {"def f(float(2, 9, 4) x, int64(2, 9) n) -> (h) {\n  scatter float(2, 5, 4) h(b, n(b, t), "
        "c) +=[drop] x(b, t, c) where b in 0:2, t in 0:9, c in 0:4\n}",
        "def f(float(3, 8) x, int64(8) n, int64(8) m) -> (h) {\n  scatter float(3, 4, 5) h(c, "
        "n(i), m(i) + k) +=[drop] x(c, i) where c in 0:3, i in 0:8, k in 0:2\n}",
        "def f(float(8) x, int64(8) n) -> (h) {\n  scatter float(4) h(n(i)) +=[wrap] x(i)\n}",
        "def f(float(9, 9) x, int64(9) n) -> (h) {\n  scatter float(5) h(n(i)) +=[clip] x(i, j) "
        "where i in 0:9, j in 0:9, j <= i\n}",
        "def f(half(9, 4) x, int64(9) n) -> (h) {\n  scatter half(5, 4) h(n(i), j) +=[drop] "
        "x(i, j) where i in 0:9, j in 0:4\n}"}) {
    const Graph graph = parse_graph(text);
    for (const int64_t chunk : {3, 32}) expect_faithful(inverted(graph, chunk), graph);
    expect_faithful(inverted(graph, 4, 2), graph);
  }
}

TEST(Invert, IsRefused) {
  const Program p = plain(table(9, 5));
  const size_t s = scatter_in(p);
  expect_refused([&] { invert(plain(matmul_graph(2, 2, 2)), 0, 4); }, "no scatter");
  expect_refused([&] { invert(p, s, 1); }, "2 points or more");
  const Program once = invert(p, s, 4);
  expect_refused([&] { invert(once, stage_of(once, "d"), 4); }, "no scatter");
  const Program on_top = inverted(table(9, 5, "+=[drop]", " from d0"), 4);
  expect_refused([&] { invert(on_top, stage_of(on_top, "d"), 4); }, "segments already");
  expect_refused([&] { invert(once, stage_of(once, "d_order"), 4); }, "each element once");
  const Program empty = plain(parse_graph(
      "def f(float(0) x, int64(0) n) -> (h) {\n  scatter float(4) h(n(i)) +=[drop] x(i)\n}"));
  expect_refused([&] { invert(empty, scatter_in(empty), 4); }, "no points");
}

}  // namespace
}  // namespace adjit::sched
