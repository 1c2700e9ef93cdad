// tests/runtime/diff/simplify/mask_propagation_test.cpp -- what masks set to 0 or -inf is not
// computed.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/masks.hpp"

namespace adjit::testing {
namespace {

constexpr int64_t kRows = 12;

const Stage& stage_of(const Graph& graph, std::string_view name) {
  for (const Stage& stage : graph.stages)
    if (graph.info(stage.results[0]).name == name) return stage;
  ADD_FAILURE() << "no stage " << name << " in\n" << print(graph);
  return graph.stages[0];
}

size_t rows_of(const Graph& graph, std::string_view name) {
  return stage_of(graph, name).domain.inequalities.size();
}

struct MaskCase {
  const char* mask;
  size_t rows;  // of every stage behind the mask
};

class Masks : public ::testing::TestWithParam<MaskCase> {};

TEST_P(Masks, LeaveTheStagesBehindThem) {
  const Graph forward = masked_attention(GetParam().mask);
  const Graph restricted = restrict_to_supports(forward);
  EXPECT_TRUE(same_numbers(forward, restricted));
  for (const char* name : {"t", "e", "z", "p", "o"})
    EXPECT_EQ(rows_of(restricted, name), GetParam().rows) << name << "\n" << print(restricted);
  // The whole order of passes, and the gradients.
  const Graph simple = simplify(forward);
  EXPECT_TRUE(same_numbers(forward, simple));
  EXPECT_TRUE(check_gradients(simple, 2));
  ReverseOptions options{float_inputs(forward), {0}};
  const Graph derived = vjp(forward, options);
  options.clean = false;
  EXPECT_TRUE(same_numbers(vjp(forward, options), derived));
  if (GetParam().rows > 0) {
    EXPECT_LT(points(derived), points(simplify(vjp(masked_attention("i < 100"), options))) * 4 / 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Masks,
                         ::testing::Values(MaskCase{"j <= i", 1}, MaskCase{"i <= j", 1},
                                           MaskCase{"i >= j", 1},
                                           MaskCase{"j <= i && i <= j + 3", 2},
                                           MaskCase{"j < 5", 1}, MaskCase{"!(j > i)", 1},
                                           MaskCase{"j <= i + 1000", 0},
                                           MaskCase{"j < 11", 0},  // hardly fewer points
                                           MaskCase{"j * j <= i", 0}));

// However they are written.
TEST(Supports, WindowsAreBands) {
  for (const char* mask : {"j <= i && i <= j + 3", "(j <= i) & (i <= j + 3)", "abs(i - j) < 3",
                           "!((i < j) | (j + 3 < i))", "!(i < j || j + 3 < i || j - i > 100)"}) {
    const Graph forward = masked_attention(mask), simple = simplify(forward);
    EXPECT_TRUE(same_numbers(forward, simple));
    EXPECT_EQ(rows_of(simple, "z"), 2u) << print(simple);
    EXPECT_EQ(rows_of(simple, "o"), 2u) << print(simple);
  }
}

// Rows of scores that a mask leaves nothing of are NaN, as without this pass.
TEST(Supports, RowsWithoutAnyTermStay) {
  for (const char* mask : {"j < i", "j > i", "j <= i - 3", "i < 0", "j <= i && i <= 2 * j - 4"}) {
    const Graph forward = masked_attention(mask), restricted = simplify(forward);
    EXPECT_TRUE(same_numbers(forward, restricted)) << mask;
  }
  const Graph strict = masked_attention("j < i");
  const std::vector<Array> results = interpret(simplify(strict), random_inputs(strict));
  EXPECT_TRUE(std::isnan(results[0].at(0)));
  EXPECT_FALSE(std::isnan(results[0].at(3)));
}

// Masks one behind the other, and one that comes by another way.
TEST(Supports, InfinitiesOfTwoMasksAreNoZero) {
  const auto scores = [](const std::string& other) {
    return parse_graph(
        "def main(double(9, 9) s) -> (o) {\n"
        "  a(i, j) = j <= i ? s(i, j) : -inf\n"
        "  b(i, j) = " +
        other + "\n  o(i, j) = exp(a(i, j) - b(i, j))\n}");
  };
  for (const char* other : {"i <= j ? s(i, j) : -inf", "j <= i ? s(j, i) : -inf", "s(i, j)",
                            "j <= i ? s(i, j) : inf"}) {
    const Graph graph = scores(other);
    EXPECT_TRUE(same_numbers(graph, restrict_to_supports(graph))) << other;
  }
  EXPECT_EQ(rows_of(restrict_to_supports(scores("s(i, j)")), "o"), 1u);
  EXPECT_EQ(rows_of(restrict_to_supports(scores("i <= j ? s(i, j) : -inf")), "o"), 0u);
}

// What is 0 on one side of a diagonal is nothing to sums and products.
TEST(Supports, TrianglesOfMatrices) {
  const Graph graph = parse_graph(
      "def main(double(12, 12) a, double(12, 5) b) -> (y, z) {\n"
      "  l(i, j) = j <= i ? a(i, j) : 0.0\n"
      "  m(i, j) = sigmoid(l(i, j)) * l(j, i)\n"
      "  y(i, k) +=! l(i, r) * b(r, k)\n"
      "  z(i) max=! l(i, r)\n"
      "}");
  const Graph restricted = restrict_to_supports(graph);
  EXPECT_TRUE(same_numbers(graph, restricted));
  EXPECT_EQ(rows_of(restricted, "y"), 1u);
  EXPECT_EQ(rows_of(restricted, "m"), 1u) << "l(j, i) is 0 above";
  EXPECT_EQ(rows_of(restricted, "z"), 0u) << "a zero counts in a maximum";
  EXPECT_TRUE(check_gradients(simplify(graph), 1));
}

TEST(Supports, LargestAndLeast) {
  for (const char* how : {"max=! j <= i ? x(i, j) : -inf", "min=! j <= i ? x(i, j) : inf",
                          "max=! j <= i ? x(i, j) : inf", "+=! j <= i ? x(i, j) : 1.0",
                          "max=! j <= i ? x(i, j) : (j <= 5 ? -inf : x(j, i))"}) {
    const Graph graph = parse_graph(std::string("def main(double(12, 12) x) -> (y) { y(i) ") + how +
                                    " where i in 0:12, j in 0:12 }");
    EXPECT_TRUE(same_numbers(graph, simplify(graph))) << how;
    EXPECT_TRUE(same_numbers(graph, restrict_to_supports(graph))) << how;
  }
}

// The mask's zeros reach behind views, loops and functions no differently.
TEST(Supports, OtherReadersSeeEveryPoint) {
  const Graph graph = parse_graph(
      "def main(double(12, 12) x) -> (y, w) {\n"
      "  m(i, j) = j <= i ? x(i, j) : -inf\n"
      "  y(i, j) = m(j, i)\n"
      "  w(i, j) = exp(m(i, 11 - j))\n"
      "}");
  EXPECT_TRUE(same_numbers(graph, simplify(graph)));
  EXPECT_EQ(rows_of(restrict_to_supports(graph), "w"), 1u);
}

// A mask inside another one is nothing where the outer one holds.
TEST(Supports, MasksInsideDomains) {
  for (const char* inner : {"-inf", "inf", "2.0", "0.0"})
    for (const char* outer : {"j >= 6", "i + j >= 9", "j >= i - 2", "i < 9"}) {
      const Graph graph = parse_graph(std::string("def main(double(12, 12) s) -> (z, t, p) {\n") +
                                      "  x(i, j) = " + outer + " ? (j <= i ? s(i, j) : " + inner +
                                      ") : 0.0\n"
                                      "  e(i, j) = exp(x(i, j))\n"
                                      "  z(i) +=! e(i, r)\n"
                                      "  t(i) max=! x(i, r)\n"
                                      "  p(i) +=! x(i, r) * s(r, i)\n}");
      EXPECT_TRUE(same_numbers(graph, simplify(graph))) << outer << " " << inner;
      EXPECT_TRUE(same_numbers(graph, restrict_to_supports(restrict_domains(graph))));
    }
}

// Without the maximum taken out first, rows that a mask leaves nothing of are 0 over 0.
TEST(Supports, QuotientsOfNothing) {
  const auto weights = [](const std::string& mask) {
    return parse_graph("def main(double(12, 12) s) -> (p) {\n  m(i, j) = " + mask +
                       " ? s(i, j) : -inf\n"
                       "  e(i, j) = exp(m(i, j))\n"
                       "  z(i) +=! e(i, r)\n"
                       "  y(i) = z(i) * 1.0\n"
                       "  p(i, j) = e(i, j) / y(i)\n}");
  };
  for (const char* mask : {"j < i", "j <= i - 3", "i < 4", "j <= i", "i <= j"}) {
    EXPECT_TRUE(same_numbers(weights(mask), simplify(weights(mask)))) << mask;
    EXPECT_TRUE(same_numbers(weights(mask), restrict_to_supports(weights(mask)))) << mask;
  }
  EXPECT_EQ(rows_of(restrict_to_supports(weights("j <= i")), "p"), 1u);
}

// Rows of which a mask leaves nothing, whatever divides by them, and whether points are saved or
// not.
TEST(Supports, QuotientsOfOtherReductions) {
  for (const char* mask : {"j < i", "i >= 1", "i >= 1 && j <= i", "j < 11 && i > 0", "j <= i"})
    for (const char* norm : {"max=! e(i, r)", "+=! e(i, r) * e(i, r)", "min=! e(i, r)"}) {
      const Graph graph = parse_graph(
          std::string("def main(double(12, 12) s) -> (p, w) {\n") + "  e(i, j) = " + mask +
          " ? exp(s(i, j)) : 0.0\n  z(i) " + norm + "\n  p(i, j) = e(i, j) / z(i)\n" +
          "  x(i) = i >= 3 ? s(i, 0) : 0.0\n" + "  w(i, j) = e(i, j) / x(i)\n}");
      EXPECT_TRUE(same_numbers(graph, simplify(graph))) << mask << ", " << norm;
      EXPECT_TRUE(same_numbers(graph, restrict_to_supports(graph))) << mask << ", " << norm;
    }
}

// The same where the mask says what is left out.
TEST(Supports, MasksThatSayWhatIsLeftOut) {
  const Graph graph = parse_graph(
      "def main(double(12, 12) s) -> (z) {\n"
      "  m(i, j) = i < j || j + 3 < i ? -inf : s(i, j)\n"
      "  e(i, j) = exp(m(i, j))\n"
      "  z(i) +=! e(i, r)\n}");
  EXPECT_TRUE(same_numbers(graph, simplify(graph)));
  EXPECT_EQ(rows_of(simplify(graph), "z"), 2u) << print(simplify(graph));
}

// Zeros and infinities that meet others are no known constants.
TEST(Supports, NumbersThatAreNone) {
  for (const char* body : {"(j <= i ? a(i, j) : 0.0) / (j <= i ? b(i, j) : 0.0)",
                           "(j <= i ? a(i, j) : -inf) - (b(i, j) > 0.0 ? b(i, j) : -inf)",
                           "(j <= i ? a(i, j) : -inf) + (b(i, j) > 0.0 ? b(i, j) : inf)",
                           "(j <= i ? a(i, j) : 0.0) * (b(i, j) > 0.0 ? b(i, j) : inf)"}) {
    const Graph graph = parse_graph(std::string("def main(double(12, 12) a, double(12, 12) b) -> "
                                                "(t, z) {\n  x(i, j) = ") +
                                    body + "\n  t(i) max=! x(i, r)\n  z(i) +=! x(i, r)\n}");
    EXPECT_TRUE(same_numbers(graph, restrict_to_supports(graph))) << body;
  }
  const Graph logarithms = parse_graph(
      "def main(double(12, 12) s) -> (p) {\n"
      "  m(i, j) = j < i ? s(i, j) : -inf\n"
      "  e(i, j) = exp(m(i, j))\n"
      "  z(i) +=! e(i, r)\n"
      "  p(i, j) = exp(m(i, j) - log(z(i)))\n}");
  EXPECT_TRUE(same_numbers(logarithms, simplify(logarithms)));
}

// 1e8 + 1 is 1e8 in float32.
TEST(Supports, ConstantsAreOfTheirType) {
  const Graph graph = parse_graph(
      "def main(float(12, 12) s) -> (z) {\n"
      "  m(i, j) = j <= i ? s(i, j) : 1e8\n"
      "  y(i, j) = ((m(i, j) + 1.0) - 1e8) - 1.0\n"
      "  z(i) +=! y(i, r)\n}");
  EXPECT_TRUE(same_numbers(graph, restrict_to_supports(graph)));
}

// An index out of range is one wherever a mask is.
TEST(Supports, IndicesOfDataAreReadEverywhere) {
  const Graph graph = parse_graph(
      "def main(double(9) t, int64(12, 12) n) -> (z) {\n"
      "  x(i, j) = t(n(i, j))\n"
      "  m(i, j) = j <= i ? x(i, j) : 0.0\n"
      "  z(i) +=! m(i, r)\n}");
  EXPECT_EQ(rows_of(restrict_to_reads(restrict_to_supports(graph)), "x"), 0u);
  EXPECT_EQ(rows_of(simplify(graph), "x"), 0u) << print(simplify(graph));
  EXPECT_EQ(rows_of(simplify(graph), "z"), 1u) << print(simplify(graph));
}

}  // namespace
}  // namespace adjit::testing
