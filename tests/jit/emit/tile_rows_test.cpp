// tests/jit/emit/tile_rows_test.cpp -- rows that differ between the points of a tile: bounds of
// loops, versions without masks.
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

// A row that lies across the tile leaves out the steps in which none of the tile's points has a
// term.
TEST(TileRows, BoundLoops) {
  for (const char* row : {"r <= j", "r >= j", "2 * r <= j + i", "r + j >= 20", "r <= j, i <= r"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(12, 40) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:12, j in "
                    "0:24, r in 0:40, ") +
        row + " }");
    const Program p = vectorize(plain(graph), 0, 1, 8);
    expect_same(p);
    expect_same(unroll(p, 0, 0, 4));
    expect_same(unroll(p, 0, 1, 2));
    EXPECT_GT(occurrences(EmittedProgram(p).ir(), "select i1"), 0u) << "no bound from " << row;
  }
}

// A sum of windows of an image with zeros around it.
Graph windows(const std::string& how = "+", const std::string& rows = "") {
  return parse_graph(
      "def main(float(3, 24, 32) x, float(3, 3) w) -> (y) { y(c, i, j) " + how +
      "=! x(c, i + r_a - 1, j + r_b - 1) * w(r_a, r_b) where c in 0:3, i in 0:24, j "
      "in 0:32, r_a in 0:3, r_b in 0:3, i + r_a >= 1, i + r_a <= 24, j + r_b >= 1, j "
      "+ r_b <= 32" +
      rows + " }");
}

// In the middle of the image nothing is asked.
TEST(TileRows, TheInteriorHasNoMasks) {
  for (const char* how : {"+", "max"}) {
    Program p = vectorize(plain(windows(how)), 0, 2, 8);
    p = unroll(unroll(std::move(p), 0, 3, 3), 0, 4, 3);
    expect_same(p);
    const std::string ir = EmittedProgram(p).ir();
    // A sum asks rows of the image first, then those that differ between lanes; others all at once.
    const bool is_sum = how[0] == '+';
    EXPECT_EQ(occurrences(ir, "\neither"), is_sum ? 2u : 1u);
    const size_t rows = ir.find("\neither"), border = ir.find("\nor", rows);
    const size_t inside = is_sum ? ir.find("\neither", rows + 1) : rows;
    ASSERT_NE(inside, std::string::npos);
    const size_t end = ir.find("\nor", inside);
    const std::string interior = ir.substr(inside, end - inside);
    EXPECT_LE(border, end);
    EXPECT_EQ(occurrences(interior, "masked.load"), 0u) << interior;
    EXPECT_EQ(occurrences(interior, "load <8 x float>"), 9u);
    EXPECT_GT(occurrences(ir.substr(end), "masked.load"), 0u);
    if (how[0] == '+') {
      EXPECT_EQ(occurrences(interior, "<8 x i1>"), 0u) << interior;
    }
  }
}

TEST(TileRows, VersionsOfEveryKindOfTile) {
  const Graph image = windows();
  expect_same(vectorize(plain(image), 0, 2, 8));
  expect_same(unroll(vectorize(plain(image), 0, 2, 4), 0, 1, 5));
  expect_same(vectorize(plain(image), 0, 1, 8));
  expect_same(
      unroll(vectorize(tile(plain(image), 0, 2, std::vector<int64_t>{20}), 0, 2, 4), 0, 4, 3));
  expect_same(parallel(unroll(vectorize(plain(image), 0, 2, 16), 0, 0, 3), 0, 2));
  for (const char* rows : {", q = (i + r_b) // 2, i + r_b == 2 * q", ", r_a == r_b", ", r_b <= i"})
    for (int64_t lanes : {4, 8})
      expect_same(unroll(vectorize(plain(windows("+", rows)), 0, 2, lanes), 0, 3, 3));
  const Graph weights = parse_graph(
      "def main(float(2, 32) x, float(2, 32) d) -> (y) { y(k) +=! x(r_b, k + r_i - 2) * d(r_b, "
      "r_i) "
      "where k in 0:5, r_b in 0:2, r_i in 0:32, k + r_i >= 2, k + r_i <= 33 }");
  expect_same(vectorize(plain(weights), 0, 2, 8));
  expect_same(unroll(vectorize(plain(weights), 0, 2, 8), 0, 0, 5));
  expect_same(unroll(vectorize(plain(weights), 0, 2, 4), 0, 2, 2));
}

// Twice as much code pays where most steps are inside, and where it is not too much.
TEST(TileRows, OneVersionWhereTwoDoNotPay) {
  const auto versions = [](const Program& p) {
    return occurrences(EmittedProgram(p).ir(), "\neither");
  };
  const Program p = vectorize(plain(windows()), 0, 2, 8);
  EXPECT_EQ(versions(p), 1u);
  EXPECT_EQ(versions(unroll(vectorize(plain(windows()), 0, 2, 32), 0, 4, 3)), 0u)
      << "every row is at the border";
  const Graph corner = parse_graph(
      "def main(float(40) x) -> (y) { y(i) +=! x(r) where i in 0:40, r in 0:40, r + i <= 10 }");
  EXPECT_EQ(versions(vectorize(plain(corner), 0, 0, 8)), 0u) << "few steps are inside";
  std::string body = "x(c, i + r_a - 1, j)";
  for (int k = 0; k < 9; ++k) body = "sin(" + body + " + " + std::to_string(k) + ".0)";
  const Graph large =
      parse_graph("def main(float(3, 24, 32) x) -> (y) { y(c, i, j) +=! " + body +
                  " where c in 0:3, i in 0:24, j in 0:32, r_a in 0:3, i + r_a >= 1, "
                  "i + r_a <= 24 }");
  EXPECT_EQ(versions(unroll(vectorize(plain(large), 0, 2, 8), 0, 1, 3)), 1u);
  EXPECT_EQ(versions(unroll(unroll(unroll(vectorize(plain(large), 0, 2, 8), 0, 1, 12), 0, 0, 3), 0,
                            2, 4)),
            0u);
}

// A product with a triangle, whose columns are vectors of a tile.
Graph triangle(const std::string& rows, int64_t columns = 16) {
  const std::string n = std::to_string(columns);
  return parse_graph("def main(float(24, 32) x, float(32, " + n +
                     ") w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) where i in 0:24, j in 0:" + n +
                     ", r in 0:32, " + rows + " }");
}

// In the steps that have terms in one vector alone the other one's copies are left out; the masks
// of a vector that has all its terms then, too.
TEST(TileRows, VectorsWithoutTermsAreLeftOut) {
  const auto tiled = [](const std::string& row) {
    return unroll(unroll(vectorize(plain(triangle(row)), 0, 1, 8), 0, 0, 3), 0, 1, 2);
  };
  constexpr size_t kBoth = 6, kOne = 3;
  for (const auto& [row, copies] : std::vector<std::pair<const char*, size_t>>{
           {"r <= j", kBoth + kOne},
           {"r <= j + 3", kBoth + kOne},
           {"r >= j", kBoth + kBoth + kOne},  // inside, where nothing is asked, too
           {"2 * r >= j", kBoth + kBoth},     // few steps leave one out
           {"j <= 20", kBoth}}) {
    const Program p = tiled(row);
    expect_same(p);
    const std::string ir = EmittedProgram(p).ir();
    const char* multiply = target_has_fma() ? "call <8 x float> @llvm.fma" : "fmul <8 x float>";
    EXPECT_EQ(occurrences(ir, multiply), copies) << row;
  }
  const std::string ir = EmittedProgram(tiled("r <= j")).ir();
  const size_t both = ir.find("\neither"), one = ir.find("\nor", both);
  EXPECT_EQ(occurrences(ir.substr(both, one - both), "select <8 x i1>"), 3u)
      << "where r <= 7, columns 8 to 15 have all terms";
}

TEST(TileRows, TrianglesOfEveryKind) {
  for (const char* rows : {"r <= j", "r >= j", "r <= j, r >= i", "r <= j, j <= i", "j <= i",
                           "i + j <= r", "r <= j, 2 * r >= j", "r + j <= 31", "r + j >= 20",
                           "r <= j, q = (j + r) // 2, j + r == 2 * q"})
    for (const int64_t columns : {16, 32, 29})
      for (const int64_t vectors : {2, 3, 4}) {
        const Program p = vectorize(plain(triangle(rows, columns)), 0, 1, 8);
        if (8 * vectors > columns + 7) continue;
        expect_same(unroll(unroll(p, 0, 0, 3), 0, 1, vectors));
        expect_same(unroll(unroll(p, 0, 1, vectors), 0, 2, 2));
      }
}

// Of results on one side of a diagonal, tiles on the other side are not added up.
TEST(TileRows, TilesWithoutResultsAreLeftOut) {
  for (const char* rows : {"j <= i", "i <= j", "2 * j <= i + 3", "j <= i, i <= j + 9", "j >= 14"})
    for (const int64_t columns : {16, 32, 29}) {
      const Program p = unroll(vectorize(plain(triangle(rows, columns)), 0, 1, 8), 0, 0, 3);
      expect_same(p);
      expect_same(unroll(p, 0, 1, 2));
      EXPECT_GT(occurrences(EmittedProgram(p).ir(), "\nthen"), 0u) << rows;
    }
  const Program all = unroll(vectorize(plain(triangle("r <= j")), 0, 1, 8), 0, 0, 3);
  EXPECT_EQ(occurrences(EmittedProgram(all).ir(), "\nthen"), 0u) << "every tile has results";
}

// Without a reduction, too, and tiles inside all rows ask none.
TEST(TileRows, TilesOfPointsOutsideAreZeros) {
  for (const char* rows : {"j <= i", "i <= j", "j <= i, i <= j + 9", "j >= 14",
                           "q = (i + j) // 2, i + j == 2 * q, j <= i"})
    for (const int64_t columns : {32, 64, 29}) {
      const std::string n = std::to_string(columns);
      const Graph graph = parse_graph("def main(float(24, " + n +
                                      ") x) -> (y) { y(i, j) = exp(x(i, j)) where i in "
                                      "0:24, j in 0:" +
                                      n + ", " + rows + " }");
      const Program p = vectorize(plain(graph), 0, 1, 8);
      expect_same(p);
      expect_same(unroll(p, 0, 1, 2));
      expect_same(unroll(p, 0, 0, 3));
      expect_same(vectorize(plain(graph), 0, 0, 8));
    }
  const Graph triangle = parse_graph(
      "def main(float(24, 32) x) -> (y) { y(i, j) = x(i, j) * 2 where i in 0:24, j in 0:32, "
      "j <= i }");
  const std::string ir = EmittedProgram(vectorize(plain(triangle), 0, 1, 8)).ir();
  EXPECT_EQ(occurrences(ir, "\neither"), 2u) << "whether any point is inside, whether all are";
  EXPECT_EQ(occurrences(ir, "store <8 x float> zeroinitializer"), 1u) << ir;
}

// A loop over several points of the reduction at once ends before what no row lets in.
TEST(TileRows, BoundLoopsOfSeveralPoints) {
  for (const char* row :
       {"r <= i", "r >= i", "2 * r <= i + 9", "r + i >= 50", "r <= i, i <= r + 5"})
    for (const int64_t terms : {64, 61, 7}) {
      const std::string n = std::to_string(terms);
      const Graph graph = parse_graph(
          "def main(float(40, " + n +
          ") x) -> (y) { y(i) +=! x(i, r) where i in 0:40, r in 0:" + n + ", " + row + " }");
      const Program p = vectorize(plain(graph), 0, 1, 8);
      expect_same(p);
      expect_same(unroll(p, 0, 0, 4));
      expect_same(unroll(plain(graph), 0, 1, 5));
      if (terms < 16) continue;
      expect_same(unroll(p, 0, 1, 2));
      expect_same(unroll(unroll(p, 0, 1, 4), 0, 0, 2));
    }
}

// Rows whose forms leave 32 bits in some lanes, or whose loops' part does.
TEST(TileRows, LargeCoefficients) {
  for (const char* row :
       {"200000000 * j + r >= 1500000000", "r >= 200000000 * j - 1500000000",
        "j + 1000000000 * r >= 2000000007", "j - 536870912 * r >= -2147483648 + 3",
        "4000000000 * j >= 30000000000 + r"}) {
    const Graph graph = parse_graph(std::string("def main(float(16) x, float(5, 16) w) -> (y) { "
                                                "y(j) +=! x(j) * w(r, j) where j in 0:16, r in "
                                                "0:5, ") +
                                    row + " }");
    for (const int64_t lanes : {4, 8, 16}) expect_same(vectorize(plain(graph), 0, 0, lanes));
  }
}

}  // namespace
}  // namespace adjit::testing
