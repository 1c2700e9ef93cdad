// tests/jit/emit/nest_loops_test.cpp -- loops of every kind with ragged ends, constraints as their
// bounds and guards.
#include "jit/emit/nest_loops.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Steps = std::vector<int64_t>;

// Every extent around a tile of 8: shorter, whole, one more, ...
TEST(NestLoops, RaggedEndsOfEveryKindOfLoop) {
  for (int64_t n : {2, 3, 7, 8, 9, 15, 16, 17, 31}) {
    SCOPED_TRACE(n);
    const std::string extent = std::to_string(n);
    const Graph graph = parse_graph("def main(float(3, " + extent +
                                    ") x) -> (y) { y(i, j) = x(i, j) "
                                    "* 2.0 }");
    expect_right(tile(plain(graph), 0, 1, Steps{8}));
    expect_right(tile(plain(graph), 0, 1, Steps{8, 4}));
    expect_right(vectorize(plain(graph), 0, 1, 8));
    if (n >= 8) {
      expect_right(unroll(plain(graph), 0, 1, 8));
      expect_right(unroll(vectorize(plain(graph), 0, 1, 4), 0, 1, 2));
      expect_right(vectorize(tile(plain(graph), 0, 1, Steps{8}), 0, 1, 4));
      expect_right(unroll(vectorize(tile(plain(graph), 0, 1, Steps{8}), 0, 1, 2), 0, 1, 2));
      expect_right(parallel(tile(plain(graph), 0, 1, Steps{8}), 0, 2));
      expect_right(parallel(vectorize(plain(graph), 0, 1, 8), 0, n > 8 ? 2 : 1));
      expect_right(parallel(unroll(vectorize(plain(graph), 0, 1, 4), 0, 1, 2), 0, n > 8 ? 2 : 1));
    }
  }
}

// A tile longer than its axis, run in parallel: its tasks without points read and write nothing.
TEST(NestLoops, TasksWithoutPoints) {
  const Graph graph =
      parse_graph("def main(float(3) x, float(3, 6) z) -> (y) { y(i, j) = exp(x(i)) * z(i, j) }");
  for (int64_t step : {2, 5}) {
    const Program p = parallel(tile(plain(graph), 0, 0, Steps{step}), 0, 2);
    expect_right(p);
    expect_right(vectorize(p, 0, 1, 4));
  }
  expect_right(parallel(tile(tile(plain(graph), 0, 0, Steps{4, 2}), 0, 1, Steps{4}), 0, 5));
}

// A whole tile's reads stay behind the question whether the tile is whole.
TEST(NestLoops, ReadsOfWholeTilesStayOutOfTheRaggedTask) {
  const Graph graph =
      parse_graph("def main(float(10) x, float(10, 7) z) -> (y) { y(i) +=! exp(x(i)) * z(i, r) }");
  for (int64_t factor : {2, 3, 4}) {
    const Program p = unroll(plain(graph), 0, 0, factor);
    expect_right(parallel(p, 0, 1));
    expect_right(parallel(vectorize(plain(graph), 0, 0, 4), 0, 1));
  }
}

TEST(NestLoops, RaggedTilesOfTilesWithTheReductionInside) {
  for (const auto& [m, n, k] :
       {std::tuple{13, 37, 29}, {12, 32, 28}, {5, 7, 3}, {1, 1, 1}, {14, 33, 2}}) {
    SCOPED_TRACE(m);
    const Graph graph = matmul_graph(m, n, k);
    Program program = plain(graph);
    if (m >= 3) program = unroll(std::move(program), 0, 0, 3);
    if (n >= 7) program = vectorize(std::move(program), 0, 1, 4);
    expect_right(program);
    if (m >= 12) {
      program = tile(plain(graph), 0, 0, Steps{12});
      program = tile(std::move(program), 0, 1, Steps{16});
      program = tile(std::move(program), 0, 2, Steps{10});
      const size_t loops = program.kernels[0].root.loops.size();
      ASSERT_EQ(loops, 6u);
      // i/12, j/16, k/10, i, j, k: the partial result is resumed at every tile of k.
      program = reorder(std::move(program), 0, std::vector<size_t>{0, 2, 4, 1, 3, 5});
      expect_right(program);
      program = unroll(std::move(program), 0, 0, 4);
      program = vectorize(std::move(program), 0, 1, 8);
      expect_right(program);
      expect_right(parallel(std::move(program), 0, 2));
    }
  }
}

TEST(NestLoops, WholeLoopsAreTestedOnlyAtTheirEnd) {
  const Graph graph = parse_graph("def main(float(64) x) -> (y) { y(i) = x(i) * 2.0 }");
  const std::string ir = EmittedProgram(vectorize(plain(graph), 0, 0, 16)).ir();
  EXPECT_EQ(occurrences(ir, "icmp"), 1u) << ir;
  EXPECT_EQ(occurrences(ir, "br i1"), 1u);
}

TEST(NestLoops, ZeroExtents) {
  for (const char* shape : {"0, 5", "5, 0", "0, 0"}) {
    const Graph graph =
        parse_graph(std::string("def main(float(") + shape +
                    ") x) -> (y, s, t) { y(i, j) = x(i, j) + 1.0\n s(i) +=! x(i, r)\n"
                    " t() +=! x(r, q) }");
    expect_right(plain(graph));
  }
  const Graph product = matmul_graph(4, 6, 0);
  expect_right(plain(product));
  expect_right(vectorize(unroll(plain(product), 0, 0, 2), 0, 1, 4));
}

TEST(NestLoops, ScalarsHaveNoLoops) {
  const Graph graph =
      parse_graph("def main(float x) -> (y, z) { y() = x() + 1.0\n z() = y() * 3.0 }");
  expect_right(plain(graph));
  EXPECT_EQ(occurrences(EmittedProgram(plain(graph)).ir(0), "br "), 0u);
}

struct Constraint {
  const char* name;
  const char* where;
};

class LoopConstraints : public ::testing::TestWithParam<Constraint> {};

// y[i, j] over r: conditions between outputs and the reduction, under every schedule.
TEST_P(LoopConstraints, AreBoundsGuardsAndMasks) {
  const Graph graph = parse_graph(
      std::string(
          "def main(float(11, 13) x, float(13, 9) w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) "
          "where i in 0:11, j in 0:9, r in 0:13, ") +
      GetParam().where + " }");
  expect_right(plain(graph));
  expect_right(tile(plain(graph), 0, 2, Steps{4}));
  expect_right(reorder(tile(plain(graph), 0, 2, Steps{5}), 0, std::vector<size_t>{2, 0, 1, 3}));
  expect_right(vectorize(plain(graph), 0, 1, 8));
  expect_right(vectorize(plain(graph), 0, 0, 4));
  expect_right(vectorize(plain(graph), 0, 2, 8));
  expect_right(unroll(plain(graph), 0, 0, 4));
  expect_right(unroll(plain(graph), 0, 2, 4));
  expect_right(vectorize(unroll(unroll(plain(graph), 0, 0, 2), 0, 2, 3), 0, 1, 4));
  expect_right(vectorize(unroll(plain(graph), 0, 0, 3), 0, 2, 4));
  expect_right(parallel(vectorize(tile(plain(graph), 0, 0, Steps{4}), 0, 1, 4), 0, 2));
}

INSTANTIATE_TEST_SUITE_P(
    Domains, LoopConstraints,
    ::testing::Values(Constraint{"LowerTriangle", "r <= i"}, Constraint{"StrictUpper", "r > i"},
                      Constraint{"Band", "r <= i + 1, i <= r + 2"}, Constraint{"Equal", "r == i"},
                      Constraint{"Twice", "r == 2 * i"}, Constraint{"Half", "2 * r == i"},
                      Constraint{"Scaled", "3 * r <= 2 * i + j"},
                      Constraint{"Parity", "q = (i + r) // 2, i + r == 2 * q"},
                      Constraint{"Quotient", "q = r // 3, q == j // 3"},
                      Constraint{"QuotientAndBound", "q = r // 3, q <= i, r >= j"},
                      Constraint{"OutputOnly", "i + j <= 12"},
                      Constraint{"OutputParity", "q = i // 2, i == 2 * q"},
                      Constraint{"ThreeAtOnce", "r <= i, j <= r, i <= j + 5"},
                      Constraint{"Nowhere", "r <= i, r > i"},
                      Constraint{"NegativeSlope", "r + i >= 9, r + j <= 11"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(NestLoops, BoundsNarrowTheLoopInsteadOfGuardingIt) {
  const Graph graph = parse_graph(
      "def main(float(50) x) -> (y) { y(i) +=! x(r) where i in 0:50, r in 0:50, r <= i }");
  const std::string ir = EmittedProgram(plain(graph)).ir();
  EXPECT_EQ(occurrences(ir, "\nthen"), 0u) << "no branch in the loop";
  const Graph parity = parse_graph(
      "def main(float(50) x) -> (y) { y(i) +=! x(r) where i in 0:50, r in 0:50, q = (i + r) // 2, "
      "i "
      "+ r == 2 * q }");
  EXPECT_EQ(occurrences(EmittedProgram(plain(parity)).ir(), "\nthen"), 1u);
}

// A constraint that lies across the tile leaves out the steps in which none of the tile's points
// has a term.
TEST(NestLoops, BoundLoops) {
  for (const char* constraint :
       {"r <= j", "r >= j", "2 * r <= j + i", "r + j >= 20", "r <= j, i <= r"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(12, 40) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:12, j in "
                    "0:24, r in 0:40, ") +
        constraint + " }");
    const Program p = vectorize(plain(graph), 0, 1, 8);
    expect_right(p);
    expect_right(unroll(p, 0, 0, 4));
    expect_right(unroll(p, 0, 1, 2));
    EXPECT_GT(occurrences(EmittedProgram(p).ir(), "select i1"), 0u)
        << "no bound from " << constraint;
  }
}

// A loop over several points of the reduction at once ends before what no constraint lets in.
TEST(NestLoops, BoundLoopsOfSeveralPoints) {
  for (const char* constraint :
       {"r <= i", "r >= i", "2 * r <= i + 9", "r + i >= 50", "r <= i, i <= r + 5"})
    for (const int64_t terms : {64, 61, 7}) {
      const std::string n = std::to_string(terms);
      const Graph graph = parse_graph(
          "def main(float(40, " + n +
          ") x) -> (y) { y(i) +=! x(i, r) where i in 0:40, r in 0:" + n + ", " + constraint + " }");
      const Program p = vectorize(plain(graph), 0, 1, 8);
      expect_right(p);
      expect_right(unroll(p, 0, 0, 4));
      expect_right(unroll(plain(graph), 0, 1, 5));
      if (terms < 16) continue;
      expect_right(unroll(p, 0, 1, 2));
      expect_right(unroll(unroll(p, 0, 1, 4), 0, 0, 2));
    }
}

// Constraints whose forms leave 32 bits in some lanes, or whose loops' part does.
TEST(NestLoops, LargeCoefficients) {
  for (const char* constraint :
       {"200000000 * j + r >= 1500000000", "r >= 200000000 * j - 1500000000",
        "j + 1000000000 * r >= 2000000007", "j - 536870912 * r >= -2147483648 + 3",
        "4000000000 * j >= 30000000000 + r"}) {
    const Graph graph = parse_graph(std::string("def main(float(16) x, float(5, 16) w) -> (y) { "
                                                "y(j) +=! x(j) * w(r, j) where j in 0:16, r in "
                                                "0:5, ") +
                                    constraint + " }");
    for (const int64_t lanes : {4, 8, 16}) expect_right(vectorize(plain(graph), 0, 0, lanes));
  }
}

// What a GPU counts in 32 bits ends before the loop begins, by more than these hold.
TEST(NestLoops, BoundsFarBelowTheFirstPoint) {
  for (const char* constraint :
       {"4294967296 * i - 8589934591 - r >= 0", "r + 8589934591 >= 4294967296 * i + 12884901888",
        "4294967296 * i == r + 8589934592 - 3"}) {
    const Graph graph = parse_graph(std::string("def main(float(10) x) -> (y) { y(i) +=! x(r) "
                                                "where i in 0:4, r in 0:10, ") +
                                    constraint + " }");
    const Program p = plain(graph);
    expect_right(p);
    expect_right(parallel(p, 0, 1));
    expect_right(unroll(p, 0, 1, 4));
  }
}

}  // namespace
}  // namespace adjit::testing
