// tests/runtime/diff/simplify/long_sums_test.cpp -- which sums are added in float64, and that they
// are right.
#include "runtime/diff/simplify/long_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Graph widened(const std::string& text) {
  Graph graph = long_sums_in_float64(parse_graph(text));
  verify(graph);
  return graph;
}

bool is_wide(const Graph& graph) {
  return std::ranges::any_of(graph.stages, [&](const Stage& stage) {
    return stage.combiner.kind == CombinerKind::Sum &&
           graph.info(stage.results[0]).dtype == DType::Float64;
  });
}

// Widened or not, over numbers whose sums are exact in float32.
void expect_same_sums(const std::string& text) {
  const Graph plain = parse_graph(text), wide = widened(text);
  std::vector<Array> inputs;
  for (TensorId id : plain.inputs) {
    inputs.push_back(Array::zeros(DType::Float32, plain.info(id).shape));
    for (int64_t k = 0; k < inputs.back().element_count(); ++k)
      inputs.back().set(k, static_cast<double>(k % 61 - 20));
  }
  EXPECT_EQ(interpret(wide, inputs)[0].bytes, interpret(plain, inputs)[0].bytes) << print(wide);
}

TEST(LongSums, TermsOfAGroupLieInLinesBesideEachOther) {
  const std::string text =
      "def f(float(64, 4096) x) -> (s) { s(i) +=! x(i, r) where i in 0:64, r in 0:4096 }";
  const Graph graph = widened(text);
  ASSERT_EQ(graph.stages.size(), 2u) << print(graph);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{64, 32, 32})) << print(graph);
  EXPECT_EQ(graph.info(graph.stages[0].results[0]).dtype, DType::Float64);
  EXPECT_EQ(graph.info(graph.stages[0].results[0]).name, "s") << "schedules name the reduction";
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Float32);
  expect_same_sums(text);
}

// Images of 56 x 56 as one row: places of 32 numbers in a row are not those of one line of an
// image, those of eight are. Of 57 x 57 neither.
TEST(LongSums, GroupsKeepTheVectorsOfAReshape) {
  const auto text = [](int64_t side) {
    const std::string n = std::to_string(side), all = std::to_string(8 * side * side),
                      image = std::to_string(side * side);
    return "def f(float(8, 8, " + n + ", " + n + ") x) -> (s) {\n  z(i, k) = x(i, k // " + image +
           ", k // " + n + " % " + n + ", k % " + n + ") where i in 0:8, k in 0:" + all +
           "\n  y(i, k) = z(i, k) * 2.0\n  s(i) +=! y(i, r) where i in 0:8, r in 0:" + all + "\n}";
  };
  const auto extents = [&](int64_t side) {
    const Graph graph = widened(text(side));
    for (const Stage& stage : graph.stages)
      if (stage.combiner.kind == CombinerKind::Sum) return stage.domain.extents;
    return std::vector<int64_t>();
  };
  EXPECT_EQ(extents(64), (std::vector<int64_t>{8, 256, 32}));
  EXPECT_EQ(extents(56), (std::vector<int64_t>{8, 784, 8}));
  EXPECT_EQ(extents(57), (std::vector<int64_t>{8, 8 * 57 * 57}));
  expect_same_sums(text(56));
}

TEST(LongSums, DownFewColumnsRowsAreAddedByFours) {
  const std::string text =
      "def f(float(5000, 3) x) -> (s) { s(j) +=! x(r, j) where j in 0:3, r in 0:5000 }";
  const Graph graph = widened(text);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{3, 1250})) << print(graph);
  expect_same_sums(text);
}

// Their parts are tasks of what else works on the rows. A number for each row changes nothing.
TEST(LongSums, DownManyColumnsRowsAreAddedOneByOne) {
  for (const char* text :
       {"def f(float(5000, 16) x) -> (s) { s(j) +=! x(r, j) where j in 0:16, r in 0:5000 }",
        "def f(float(5000, 16) x, float(5000) m) -> (s) {"
        " s(j) +=! exp(x(r, j) - m(r)) where j in 0:16, r in 0:5000 }"}) {
    const Graph graph = widened(text);
    EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{16, 5000})) << print(graph);
    EXPECT_TRUE(is_wide(graph));
  }
}

TEST(LongSums, WhatGroupsLeaveOverIsASumOfItsOwn) {
  const std::string text = "def f(float(4001) x) -> (s) { s() +=! x(r) where r in 0:4001 }";
  const Graph graph = widened(text);
  ASSERT_EQ(graph.stages.size(), 3u) << print(graph);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{33})) << print(graph);
  EXPECT_EQ(graph.stages[1].domain.extents, (std::vector<int64_t>{31, 32})) << print(graph);
  for (const size_t stage : {0, 1})
    EXPECT_EQ(graph.info(graph.stages[stage].results[0]).dtype, DType::Float64);
  expect_same_sums(text);
}

TEST(LongSums, GroupsAreNarrowerWhereTheyWouldLeaveMuchOver) {
  const std::string text = "def f(float(1150) x) -> (s) { s() +=! x(r) where r in 0:1150 }";
  const Graph graph = widened(text);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{30})) << print(graph);
  EXPECT_EQ(graph.stages[1].domain.extents, (std::vector<int64_t>{35, 8})) << print(graph);
  expect_same_sums(text);
}

TEST(LongSums, SeveralAxesAreGroupedAlongThatWhichDivides) {
  const std::string text =
      "def f(float(3, 12, 130) x) -> (s) {"
      " s() +=! x(a, b, c) where a in 0:3, b in 0:12, c in 0:130 }";
  const Graph graph = widened(text);
  ASSERT_EQ(graph.stages.size(), 2u) << print(graph);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{3, 3, 130})) << print(graph);
  expect_same_sums(text);
}

TEST(LongSums, OfManyResultsFromFourThousandTermsOn) {
  EXPECT_TRUE(is_wide(widened(
      "def f(float(5000, 16) x) -> (s) { s(j) +=! x(r, j) where j in 0:16, r in 0:5000 }")));
  EXPECT_FALSE(is_wide(widened(
      "def f(float(3000, 16) x) -> (s) { s(j) +=! x(r, j) where j in 0:16, r in 0:3000 }")));
}

TEST(LongSums, ProductsOfTwoOperandsThatAreReadOnce) {
  EXPECT_TRUE(
      is_wide(widened("def f(float(4096) x, float(4096) y) -> (s) {"
                      " s() +=! x(r) * y(r) where r in 0:4096 }")));
  EXPECT_FALSE(
      is_wide(widened("def f(float(64, 4096) x, float(4096) y) -> (s) {"
                      " s(i) +=! x(i, r) * y(r) where i in 0:64, r in 0:4096 }")));
}

TEST(LongSums, OtherTypesCombinersAndPrefixesStay) {
  for (const char* text :
       {"def f(double(4096) x) -> (s) { s() +=! x(r) where r in 0:4096 }",
        "def f(float(4096) x) -> (s) { s() max=! x(r) where r in 0:4096 }",
        "def f(float(512) x) -> (s) { s() +=! x(r) where r in 0:512 }",
        "def f(float(4096) x) -> (s) { s(i) +=! x(r) where i in 0:4096, r in 0:4096, r <= i }"}) {
    const Graph graph = parse_graph(text);
    EXPECT_EQ(print(long_sums_in_float64(graph)), print(graph));
  }
}

}  // namespace
}  // namespace adjit::testing
