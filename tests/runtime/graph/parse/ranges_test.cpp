// tests/runtime/graph/parse/ranges_test.cpp -- ranges of indices, inferred as Tensor Comprehensions
// does.
#include <gtest/gtest.h>

#include "runtime/graph/parse/ranges.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Ranges, ConvolutionsKeepEveryReadInBounds) {
  const Graph graph = instance_of(
      "def conv(float(N, C, H, W) I, float(M, C, KH, KW) F, float(M) b) -> (O) {\n"
      "  O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * F(m, c, kh, kw)\n"
      "  O(n, m, h, w) = fmax(O(n, m, h, w) + b(m), 0)\n}",
      {{1, 2, 6, 5}, {3, 2, 3, 2}, {3}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{1, 3, 4, 4}));
}

TEST(Ranges, StridesDivideWhatIsLeft) {
  const Graph graph = instance_of(
      "def pool(float(H, W) I) -> (O) { O(h, w) max=! I(2 * h + kh, 2 * w + kw) where kh in 0:2, "
      "kw "
      "in 0:2 }",
      {{5, 6}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(outputs_of(graph, {counting({5, 6})}), (List{8, 10, 12, 20, 22, 24}));
}

TEST(Ranges, ReductionsMayRunFromNegativeIndices) {
  // k runs from -1: a three-point stencil away from the border.
  const Graph graph = instance_of(
      "def stencil(float(N) x) -> (y) { y(i) +=! x(i + k + 1) where k in -1:2 }", {{5}});
  EXPECT_EQ(outputs_of(graph, {counting({5})}), (List{6, 9, 12}));
}

TEST(Ranges, ExistsExtendsInference) {
  const Graph graph =
      instance_of("def f(float(N) x) -> (y) { y(i) = float(i) where exists x(i + 1) }", {{4}});
  EXPECT_EQ(output_shape(graph), std::vector<int64_t>{3});
}

TEST(Ranges, ANegativeStrideEndsWhereTheReadBegins) {
  const Graph graph = instance_of("def f(float(N) x) -> (y) { y(i) = x(6 - 2 * i) }", {{7}});
  EXPECT_EQ(output_shape(graph), std::vector<int64_t>{4});
}

TEST(Ranges, EveryReadNarrowsTheRange) {
  EXPECT_EQ(
      output_shape(instance_of("def f(float(N) x, float(M) z) -> (y) { y(i) = x(i) + z(i + 1) "
                               "+ x(2 * i) }",
                               {{7}, {9}})),
      std::vector<int64_t>{4});
}

TEST(Ranges, AnIndexThatNeedsAnothersRangeFollowsIt) {
  // Round 1: r in 0:3; round 2: i in 0:5.
  EXPECT_EQ(output_shape(instance_of(
                "def f(float(N) x, float(K) w) -> (y) { y(i) +=! x(i + r) * w(r) }", {{7}, {3}})),
            std::vector<int64_t>{5});
}

TEST(Ranges, GuardedReadsAskForNothing) {
  EXPECT_NE(
      error_of("def f(float(3) x) -> (y) { y(i) = x(i where i < 3) }").find("cannot be inferred"),
      std::string::npos);
}

TEST(Ranges, TwoOpenIndicesOfOneReadStayOpen) {
  EXPECT_NE(error_of("def f(float(9) x) -> (y) { y(i) +=! x(i + r) }").find("cannot be inferred"),
            std::string::npos);
}

TEST(Ranges, ATensorWithoutElementsLeavesAnEmptyRange) {
  EXPECT_EQ(output_shape(instance_of("def f(float(N) x) -> (y) { y(i) = x(i) }", {{0}})),
            std::vector<int64_t>{0});
  EXPECT_EQ(output_shape(instance_of("def f(float(N) x) -> (y) { y(i) = x(i + 5) }", {{3}})),
            std::vector<int64_t>{0});
}

}  // namespace
}  // namespace adjit::graph
