// tests/runtime/diff/indices/piecewise_index_test.cpp -- indices as functions of one affine form.
#include "runtime/diff/indices/piecewise_index.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::diff {
namespace {

// The body of the only stage of a program as an index.
struct Indexed {
  Graph graph;
  Domain domain;
  std::optional<PiecewiseIndex> index;
};

// Over 0 <= i < 8 and 0 <= r < 5.
Indexed indexed(const std::string& expression) {
  Indexed result;
  result.graph =
      parse_graph("def f() -> (y) { y(i, r) = " + expression + " where i in 0:8, r in 0:5 }");
  const Stage& stage = result.graph.stages[0];
  result.domain = stage.domain;
  result.index = piecewise_index(result.graph.pool, stage.bodies[0], result.domain);
  return result;
}

int64_t value_of(const Piecewise& map, int64_t t) {
  for (const AffinePiece& piece : map)
    if (piece.begin <= t && t < piece.end) return piece.at(t);
  ADD_FAILURE() << t << " is in no piece";
  return INT64_MIN;
}

// The function of the form has this many pieces, and is the index at every point.
void expect_pieces(const std::string& expression, size_t count) {
  const Indexed found = indexed(expression);
  ASSERT_TRUE(found.index) << expression;
  EXPECT_EQ(found.index->map.size(), count) << expression;
  const Stage& stage = found.graph.stages[0];
  testing::for_each_point(stage.domain, [&](const std::vector<int64_t>& point) {
    const int64_t t = evaluate(found.index->form, found.domain.variables_at(point));
    EXPECT_EQ(value_of(found.index->map, t),
              testing::value_at(found.graph.pool, stage.bodies[0], point))
        << expression << " at " << t;
  });
}

TEST(PiecewiseIndex, ClampsHaveAPieceForEachEnd) {
  expect_pieces("min(max(i + r - 1, 0), 7)", 3);
  expect_pieces("min(i + 1, 7)", 2);
  expect_pieces("max(2 * i - 3, 0)", 2);
  expect_pieces("select(i < 3, 3, i)", 2);
}

TEST(PiecewiseIndex, AffineIndicesAreOnePiece) {
  expect_pieces("i + r - 1", 1);
  expect_pieces("7 - i", 1);
  expect_pieces("min(i, 9)", 1);
}

TEST(PiecewiseIndex, MirrorsTurnAtTheirEnds) {
  expect_pieces("abs(i - 2)", 2);
  expect_pieces("7 - abs(7 - abs(i + r - 2))", 3);
}

TEST(PiecewiseIndex, MultiplesOfOneFormAreOneForm) {
  expect_pieces("max(2 * i - 4, i)", 2);
  expect_pieces("min(i // 2 + r, 3)", 2);
}

TEST(PiecewiseIndex, TheFormCarriesTheShift) {
  const Indexed left = indexed("max(i - 1, 0)"), right = indexed("i");
  ASSERT_TRUE(left.index && right.index);
  const std::optional<Piecewise> both = joined(left.index->map, right.index->map);
  ASSERT_TRUE(both);
  EXPECT_EQ(*both, (Piecewise{{-1, 0, 0, 0}, {0, 8, 0, 1}}));
}

TEST(PiecewiseIndex, OtherIndicesAreNone) {
  for (const char* expression : {"max(i, r)", "i * r", "min(i, 3) + min(r, 2)", "3"})
    EXPECT_FALSE(indexed(expression).index) << expression;
}

TEST(Joined, DifferentValuesOrGapsAreRefused) {
  const Piecewise identity{{0, 8, 0, 1}};
  EXPECT_FALSE(joined(identity, {{7, 9, 6, 0}}));
  EXPECT_FALSE(joined(identity, {{9, 12, 9, 1}}));
  EXPECT_EQ(joined(identity, {{8, 12, 8, 1}}), (Piecewise{{0, 12, 0, 1}}));
  EXPECT_EQ(joined({{7, 9, 7, 0}}, identity), (Piecewise{{0, 8, 0, 1}, {8, 9, 7, 0}}));
}

// Indices that wrap, or nearly do: no function at all, or the right one.
TEST(PiecewiseIndex, NumbersBesideTheEndsOfInt64) {
  const std::vector<std::string> numbers{
      "9223372036854775807",  "9223372036854775800", "-9223372036854775807", "4611686018427387904",
      "-4611686018427387904", "2305843009213693952", "1152921504606846976",  "4294967296"};
  for (const std::string& a : numbers)
    for (const std::string& b : numbers)
      for (const std::string& expression :
           {"min(i + " + a + ", " + b + ")", "max(i - " + a + ", " + b + ")",
            "select(i < 3, " + a + ", " + b + ")", "abs(i + " + a + ") + " + b,
            "select(i < 3, i + " + a + ", i + " + b + ")", "min(i + " + a + ", 16 * i)",
            "min(max(i * " + a + ", " + b + "), 7)",
            "select(i * " + a + " < " + b + ", i, 7 - i)"}) {
        const Indexed found = indexed(expression);
        if (!found.index) continue;
        expect_pieces(expression, found.index->map.size());
        for (const AffinePiece& piece : found.index->map)
          EXPECT_LT(std::abs(piece.step * piece.begin), int64_t{1} << 62) << expression;
      }
}

}  // namespace
}  // namespace adjit::diff
