// tests/runtime/diff/long_sums_test.cpp -- which sums are added in float64, and that they are
// right.
#include "runtime/diff/long_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/graph/verify.hpp"

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

TEST(LongSums, FewResultsAreAddedInGroupsOfFour) {
  const Graph graph = widened("def f(float(4000) x) -> (s) { s() +=! x(r) where r in 0:4000 }");
  ASSERT_EQ(graph.stages.size(), 2u) << print(graph);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{1000})) << print(graph);
  EXPECT_EQ(graph.info(graph.stages[0].results[0]).dtype, DType::Float64);
  EXPECT_EQ(graph.info(graph.stages[0].results[0]).name, "s") << "schedules name the reduction";
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Float32);
}

TEST(LongSums, LengthsThatDoNotDivideAreOneByOne) {
  const Graph graph = widened("def f(float(4001) x) -> (s) { s() +=! x(r) where r in 0:4001 }");
  EXPECT_TRUE(is_wide(graph));
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{4001}));
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
