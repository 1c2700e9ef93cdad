// tests/jit/emit/contributions_test.cpp -- copies of a tile that share what they read, and the rows
// that decide whether they may.
#include <gtest/gtest.h>

#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

void expect_same(const Program& program) {
  EXPECT_EQ(check_emitted(program, small_inputs(program.graph, 3)), "") << print(program);
}

// Windows of three rows of an image, without a border.
Graph inner_windows(const std::string& row, const std::string& how = "+") {
  return parse_graph("def main(float(3, 30, 32) x, float(3) w) -> (y) { y(c, i, j) " + how +
                     "=! x(c, " + row +
                     ", j) * w(r) where c in 0:3, i in 0:12, j in 0:32, r in 0:3 }");
}

// Eight lanes, so many copies along rows and the whole window.
Program tiled(const Graph& graph, int64_t rows) {
  return unroll(unroll(vectorize(plain(graph), 0, 2, 8), 0, 1, rows), 0, 3, 3);
}

size_t vector_loads(const Program& p) {
  return occurrences(EmittedProgram(p).ir(), " load <8 x float>");
}

TEST(Contributions, TakeASharedElementOnce) {
  for (const auto& [row, rows, loads] :
       std::vector<std::tuple<std::string, int64_t, size_t>>{{"i + r", 4, 6},
                                                             {"i - r + 2", 4, 6},
                                                             {"2 * i + r", 4, 9},
                                                             {"i + 2 * r", 4, 8},
                                                             {"i + 4 * r", 4, 12},
                                                             {"i + r", 2, 4}}) {
    const Program p = tiled(inner_windows(row), rows);
    expect_same(p);
    EXPECT_EQ(vector_loads(p), loads) << row;
  }
}

// The loads of a tile in the order of their addresses, each before what multiplies it: one is kept
// at a time.
TEST(Contributions, OneElementIsKeptAtATime) {
  const std::string ir = EmittedProgram(tiled(inner_windows("i + r"), 4)).ir();
  size_t at = ir.find(" load <8 x float>"), together = 0;
  while (at != std::string::npos) {
    const size_t next = ir.find(" load <8 x float>", at + 1);
    const size_t used = ir.find(target_has_fma() ? "fma" : "fmul", at);
    together += next < used;
    at = next;
  }
  EXPECT_EQ(together, 0u) << ir;
}

// Every result adds up in the order of its reduction, whatever is shared.
TEST(Contributions, OrdersThatCombinersNeed) {
  for (const char* row : {"i + r", "i - r + 2"}) {
    for (const char* how : {"max", "*"}) expect_same(tiled(inner_windows(row, how), 4));
    const Graph winners = parse_graph(
        std::string(
            "def main(float(3, 30, 32) x) -> (y, p) { (y, p)(c, i, j) argmax=![first] (x(c, ") +
        row + ", j), int32(r)) where c in 0:3, i in 0:12, j in 0:32, r in 0:3 }");
    expect_same(tiled(winners, 4));
  }
}

// A window of an image with zeros around it.
Graph windows(const std::string& rows = "") {
  return parse_graph(
      "def main(float(3, 24, 32) x, float(3, 3) w) -> (y) { y(c, i, j) +=! x(c, i + r_a - 1, j + "
      "r_b - 1) * w(r_a, r_b) where c in 0:3, i in 0:24, j in 0:32, r_a in 0:3, r_b in 0:3, i + "
      "r_a >= 1, i + r_a <= 24, j + r_b >= 1, j + r_b <= 32" +
      rows + " }");
}

// A tile at the border asks for each row of the image once, and branches: 6 rows for 12 copies of
// each column of the window.
TEST(Contributions, RowsOfAnImageAreAskedOnceForAllThatReadThem) {
  Program p = unroll(vectorize(plain(windows()), 0, 2, 8), 0, 1, 4);
  p = unroll(std::move(p), 0, 3, 3);
  expect_same(p);
  const std::string ir = EmittedProgram(p).ir();
  EXPECT_EQ(occurrences(ir, "\nthen"), 2u) << "the first row and the last one";
  EXPECT_EQ(occurrences(ir, "\neither"), 2u) << "inside, inside but for lanes, and at the border";
  const size_t border = ir.find("\nor");
  EXPECT_EQ(occurrences(ir.substr(border), "insertelement <8 x i1>"), 0u)
      << "no row of the image masks lanes";
  expect_same(unroll(p, 0, 4, 3));
  EXPECT_EQ(occurrences(EmittedProgram(unroll(vectorize(plain(windows()), 0, 2, 8), 0, 3, 3)).ir(),
                        "\nthen"),
            0u)
      << "one contribution is not worth a branch";
}

TEST(Contributions, BordersOfEveryKind) {
  for (const char* rows : {"", ", q = (i + r_b) // 2, i + r_b == 2 * q", ", r_a == r_b",
                           ", r_b <= i", ", c + i >= 3", ", c + r_a >= 1"})
    for (const int64_t copies : {2, 5, 24}) {
      const Program p = unroll(vectorize(plain(windows(rows)), 0, 2, 8), 0, 1, copies);
      expect_same(unroll(p, 0, 3, 3));
      expect_same(unroll(unroll(p, 0, 3, 3), 0, 4, 3));
      expect_same(unroll(unroll(p, 0, 3, 2), 0, 0, 2));
    }
}

// Branches for rows of an image do not change the order in which points come to combiners that
// need one: of equal numbers the first (or last) wins.
TEST(Contributions, BordersOfCombinersInOrder) {
  const std::string domain =
      " where c in 0:3, i in 0:24, j in 0:32, r in 0:3, i + r >= 1, i + r <= 24";
  for (const char* how : {"argmax=![first]", "argmin=![first]", "argmax=!", "argmin=!"}) {
    const Graph graph =
        parse_graph(std::string("def main(float(3, 24, 32) x) -> (y, p) { (y, p)(c, i, j) ") + how +
                    " (floor(x(c, i + r - 1, j) * 0.3), int32(r))" + domain + " }");
    const Program p = unroll(unroll(vectorize(plain(graph), 0, 2, 8), 0, 1, 4), 0, 3, 3);
    expect_same(p);
  }
}

// Lanes along a reduction have an accumulator for each of their vectors, and none for copies along
// other axes of it.
TEST(Contributions, ChainsAreOfTheLanesAlone) {
  const Graph weights = parse_graph(
      "def main(float(12, 34) x, float(10, 32) d) -> (y) { y(k, l) +=! x(k + r_a, l + r_b) * "
      "d(r_a, "
      "r_b) where k in 0:3, l in 0:3, r_a in 0:10, r_b in 0:32 }");
  const auto accumulators = [](const Program& p) {
    const std::string ir = EmittedProgram(p).ir();
    return occurrences(ir, "phi <8 x float>");
  };
  Program p = unroll(vectorize(plain(weights), 0, 3, 8), 0, 0, 3);
  expect_same(p);
  const size_t three = accumulators(p);  // in each of two loops
  for (const int64_t rows : {2, 4}) {
    const Program q = unroll(p, 0, 2, rows);
    expect_same(q);
    EXPECT_EQ(accumulators(q), three + (10 % rows == 0 ? 0 : 3)) << "a loop for the last rows";
  }
  p = unroll(std::move(p), 0, 3, 2);
  expect_same(p);
  EXPECT_EQ(accumulators(p), 2 * three);
  expect_same(unroll(std::move(p), 0, 2, 4));
}

}  // namespace
}  // namespace adjit::testing
