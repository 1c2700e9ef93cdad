// tests/jit/emit/shape/tile_versions_test.cpp -- versions of a tile that ask fewer constraints.
#include "jit/emit/shape/tile_versions.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/image_windows.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using emit::Border;
using emit::NestShape;

// In the middle of the image nothing is asked.
TEST(TileVersions, TheInteriorHasNoMasks) {
  for (const char* how : {"+", "max"}) {
    Program p = vectorize(plain(image_windows(how)), 0, 2, 8);
    p = unroll(unroll(std::move(p), 0, 3, 3), 0, 4, 3);
    expect_right(p);
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

TEST(TileVersions, VersionsOfEveryKindOfTile) {
  const Graph image = image_windows();
  expect_right(vectorize(plain(image), 0, 2, 8));
  expect_right(unroll(vectorize(plain(image), 0, 2, 4), 0, 1, 5));
  expect_right(vectorize(plain(image), 0, 1, 8));
  expect_right(
      unroll(vectorize(tile(plain(image), 0, 2, std::vector<int64_t>{20}), 0, 2, 4), 0, 4, 3));
  expect_right(parallel(unroll(vectorize(plain(image), 0, 2, 16), 0, 0, 3), 0, 2));
  for (const char* constraints :
       {", q = (i + r_b) // 2, i + r_b == 2 * q", ", r_a == r_b", ", r_b <= i"})
    for (int64_t lanes : {4, 8})
      expect_right(unroll(vectorize(plain(image_windows("+", constraints)), 0, 2, lanes), 0, 3, 3));
  const Graph weights = parse_graph(
      "def main(float(2, 32) x, float(2, 32) d) -> (y) { y(k) +=! x(r_b, k + r_i - 2) * d(r_b, "
      "r_i) "
      "where k in 0:5, r_b in 0:2, r_i in 0:32, k + r_i >= 2, k + r_i <= 33 }");
  expect_right(vectorize(plain(weights), 0, 2, 8));
  expect_right(unroll(vectorize(plain(weights), 0, 2, 8), 0, 0, 5));
  expect_right(unroll(vectorize(plain(weights), 0, 2, 4), 0, 2, 2));
}

// Twice as much code pays where most steps are inside, and where it is not too much.
TEST(TileVersions, OneVersionWhereTwoDoNotPay) {
  const auto versions = [](const Program& p) {
    return occurrences(EmittedProgram(p).ir(), "\neither");
  };
  const Program p = vectorize(plain(image_windows()), 0, 2, 8);
  EXPECT_EQ(versions(p), 1u);
  EXPECT_EQ(versions(unroll(vectorize(plain(image_windows()), 0, 2, 32), 0, 4, 3)), 0u)
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
Graph triangle(const std::string& constraints, int64_t columns = 16) {
  const std::string n = std::to_string(columns);
  return parse_graph("def main(float(24, 32) x, float(32, " + n +
                     ") w) -> (y) { y(i, j) +=! x(i, r) * w(r, j) where i in 0:24, j in 0:" + n +
                     ", r in 0:32, " + constraints + " }");
}

// In the steps that have terms in one vector alone the other one's instances are left out; the
// masks of a vector that has all its terms then, too.
TEST(TileVersions, VectorsWithoutTermsAreLeftOut) {
  const auto tiled = [](const std::string& constraint) {
    return unroll(unroll(vectorize(plain(triangle(constraint)), 0, 1, 8), 0, 0, 3), 0, 1, 2);
  };
  constexpr size_t kBoth = 6, kOne = 3;
  for (const auto& [constraint, instances] : std::vector<std::pair<const char*, size_t>>{
           {"r <= j", kBoth + kOne},
           {"r <= j + 3", kBoth + kOne},
           {"r >= j", kBoth + kBoth + kOne},  // inside, where nothing is asked, too
           {"2 * r >= j", kBoth + kBoth},     // few steps leave one out
           {"j <= 20", kBoth}}) {
    const Program p = tiled(constraint);
    expect_right(p);
    EXPECT_EQ(multiply_adds(EmittedProgram(p).ir()), instances) << constraint;
  }
  const std::string ir = EmittedProgram(tiled("r <= j")).ir();
  const size_t both = ir.find("\neither"), one = ir.find("\nor", both);
  EXPECT_EQ(occurrences(ir.substr(both, one - both), "select <8 x i1>"), 3u)
      << "where r <= 7, columns 8 to 15 have all terms";
}

TEST(TileVersions, TrianglesOfEveryKind) {
  for (const char* constraints : {"r <= j", "r >= j", "r <= j, r >= i", "r <= j, j <= i", "j <= i",
                                  "i + j <= r", "r <= j, 2 * r >= j", "r + j <= 31", "r + j >= 20",
                                  "r <= j, q = (j + r) // 2, j + r == 2 * q"})
    for (const int64_t columns : {16, 32, 29})
      for (const int64_t vectors : {2, 3, 4}) {
        const Program p = vectorize(plain(triangle(constraints, columns)), 0, 1, 8);
        if (8 * vectors > columns + 7) continue;
        expect_right(unroll(unroll(p, 0, 0, 3), 0, 1, vectors));
        expect_right(unroll(unroll(p, 0, 1, vectors), 0, 2, 2));
      }
}

// Of results on one side of a diagonal, tiles on the other side are not added up.
TEST(TileVersions, TilesWithoutResultsAreLeftOut) {
  for (const char* constraints :
       {"j <= i", "i <= j", "2 * j <= i + 3", "j <= i, i <= j + 9", "j >= 14"})
    for (const int64_t columns : {16, 32, 29}) {
      const Program p = unroll(vectorize(plain(triangle(constraints, columns)), 0, 1, 8), 0, 0, 3);
      expect_right(p);
      expect_right(unroll(p, 0, 1, 2));
      EXPECT_GT(occurrences(EmittedProgram(p).ir(), "\nthen"), 0u) << constraints;
    }
  const Program all = unroll(vectorize(plain(triangle("r <= j")), 0, 1, 8), 0, 0, 3);
  EXPECT_EQ(occurrences(EmittedProgram(all).ir(), "\nthen"), 0u) << "every tile has results";
}

// Three rows and two vectors of columns of a product with a triangle.
Program triangle_tile(const std::string& constraints) {
  return unroll(unroll(vectorize(plain(triangle(constraints)), 0, 1, 8), 0, 0, 3), 0, 1, 2);
}

struct Sorted {
  explicit Sorted(Program of, bool reads_anywhere = false)
      : program(std::move(of)),
        shape(program, program.kernels[0].root),
        constraints(program, shape, std::vector<Interval>(3, Interval{0, 0}), reads_anywhere),
        variables(program.kernels[0].variable_count) {
    for (const Loop& loop : shape.nest->loops)
      variables.bind_scalar(loop.variable, {0, loop.trips - 1}, loop.step, 0);
  }
  Program program;
  NestShape shape;
  emit::NestConstraints constraints;
  emit::KernelVariables variables;
};

TEST(TileVersions, AskWhatMayFailAtTheirBorder) {
  const Sorted tile(triangle_tile("r <= i + 1, r <= j, q = (j + r) // 2, q <= i"));
  const auto asked = [&](Border border) {
    std::vector<Affine> forms;
    for (const auto& one : emit::asked_at(tile.shape, tile.constraints.tile, border))
      forms.push_back(one.form);
    return forms;
  };
  const Affine i = Affine::variable(0), j = Affine::variable(1), r = Affine::variable(2);
  const Affine quotient = i - Affine::variable(3);
  EXPECT_EQ(asked(Border::Any), (std::vector<Affine>{i - r + Affine(1), j - r, quotient}));
  EXPECT_EQ(asked(Border::Lanes), (std::vector<Affine>{j - r, quotient}));
  EXPECT_EQ(asked(Border::None), std::vector<Affine>{quotient}) << "it has no extremes";
}

TEST(TileVersions, AnInteriorIsLargeAndItsCodeSmall) {
  const auto has_interior = [](const std::string& constraints, size_t nodes) {
    const Sorted tile(triangle_tile(constraints));
    return emit::has_interior(tile.shape, tile.constraints.tile, tile.variables, nodes);
  };
  EXPECT_TRUE(has_interior("r >= j", 5));
  EXPECT_FALSE(has_interior("r >= j", 5000)) << "too much code";
  EXPECT_FALSE(has_interior("r + j >= 44", 5)) << "few steps are inside";
  EXPECT_FALSE(has_interior("r + 64 >= j", 5)) << "all are";
}

TEST(TileVersions, ResultsMayBeWhereTheLargestFormIsNotNegative) {
  const Sorted tile(triangle_tile("j <= i, r <= j"), true);
  const Affine row = Affine::variable(tile.shape.nest->loops[0].variable, 3);
  EXPECT_EQ(emit::may_have_results(tile.shape, tile.constraints, tile.variables),
            std::vector<Affine>())
      << "row 2 of a tile has a result in column 0";
  const Sorted below(triangle_tile("j + 5 <= i"), true);
  EXPECT_EQ(emit::may_have_results(below.shape, below.constraints, below.variables),
            std::vector<Affine>{row - Affine(3)});
}

TEST(TileVersions, VectorsAreLeftOutWhereNoPointHasATerm) {
  const auto left_out = [](const std::string& constraints, size_t nodes = 5) {
    const Sorted tile(triangle_tile(constraints));
    std::vector<int64_t> vectors;
    for (const emit::LeftOut& one : emit::vectors_left_out(
             tile.shape, tile.constraints, tile.shape.tile_points, tile.variables, nodes))
      vectors.push_back(one.vector);
    return vectors;
  };
  EXPECT_EQ(left_out("r <= j"), std::vector<int64_t>{0}) << "the other one bounds the loop";
  EXPECT_EQ(left_out("r >= j"), std::vector<int64_t>{8});
  EXPECT_TRUE(left_out("2 * r >= j").empty()) << "in few steps";
  EXPECT_TRUE(left_out("r <= i").empty());
  EXPECT_TRUE(left_out("r <= j", 5000).empty()) << "too much code";
}

TEST(TileVersions, AVectorWithAllItsTermsAsksNothing) {
  const Sorted tile(triangle_tile("r <= j"));
  const auto found = emit::vectors_left_out(tile.shape, tile.constraints, tile.shape.tile_points,
                                            tile.variables, 5);
  ASSERT_EQ(found.size(), 1u);
  for (const int64_t vector : {0, 8})
    EXPECT_EQ(emit::asked_of_vector(tile.shape, tile.constraints.tile, tile.variables, vector,
                                    found[0].condition)
                  .size(),
              vector == 0 ? 1u : 0u);
}

}  // namespace
}  // namespace adjit::testing
