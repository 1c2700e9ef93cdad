// tests/autosched/gpu/products/contraction_test.cpp -- what the axes of contractions are in a
// product.
#include "autosched/gpu/products/contraction.hpp"

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// "first second" factors of the last stage, or "none".
std::string operands_in(const std::string& body, const std::string& inputs) {
  const LoweredGraph graph(parse_graph("def f(" + inputs + ") -> (y) { " + body + " }"));
  const std::optional<Contraction> c = contraction_of(graph, graph.stages.back());
  if (!c) return "none";
  std::string text;
  for (const Operand* operand : {&c->first, &c->second}) {
    text += text.empty() ? "" : " | ";
    for (size_t f : operand->factors) text += std::to_string(f);
    text += ":";
    for (const bool moves : operand->axes) text += moves ? "1" : "0";
  }
  return text;
}

TEST(Contraction, OperandsAreFactorsOfTheSameAxes) {
  const std::string inputs = "float(4, 6) a, float(6, 5) b, float(6) v";
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j)", inputs), "0:101 | 1:011");
  EXPECT_EQ(operands_in("y(i, j) +=! v(k) * a(i, k) * 2.0 * (b(k, j) / exp(b(k, j)))", inputs),
            "012:101 | 34:011");
  EXPECT_EQ(operands_in("y(i, j) +=! exp(a(i, k)) * (b(k, j) + v(k))", inputs), "0:101 | 1:011");
}

TEST(Contraction, OthersAreNone) {
  const std::string inputs = "float(4, 6) a, float(6, 5) b, float(4, 5) c";
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j) * c(i, j)", inputs), "none") << "three";
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) + b(k, j)", inputs), "none");
  EXPECT_EQ(operands_in("y(i, j) max=! a(i, k) * b(k, j)", inputs), "none");
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(l, j)", inputs), "none");
  EXPECT_EQ(operands_in("y(i, j, t) +=! a(i, k) * b(k, j) where t in 0:3", inputs), "none");
  EXPECT_EQ(operands_in("y(i) +=! a(i, k) * b(k, 0)", inputs), "none");
  EXPECT_EQ(
      operands_in("y(i, j) +=! float(a(i, k)) * float(b(k, j))", "half(4, 6) a, half(6, 5) b"),
      "0:101 | 1:011");
  EXPECT_EQ(operands_in("m(i) max=! a(i, k) where i in 0:4, k in 0:6, k + 1 <= i\n"
                        "y(i, j) +=! m(i) * a(i, k - 1) * b(k, j) where i in 0:4, j in 0:5, "
                        "k in 0:6, k >= 1",
                        inputs),
            "none")
      << "zero times infinity";
}

TEST(Contraction, ConditionsAreAboutAnyAxes) {
  const std::string inputs = "float(4, 6) a, float(6, 5) b";
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j) where j <= i", inputs), "0:101 | 1:011");
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j) where k <= i + 1", inputs), "0:101 | 1:011");
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j) where k <= i + j", inputs), "0:101 | 1:011");
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, k) * b(k, j) where k <= i, j <= k", inputs), "none")
      << "20 of 120 points: tiles go through all";
}

// A condition excludes places that data names and that there may not be.
TEST(Contraction, ConditionsLeaveWhatDataNamesAlone) {
  const std::string inputs = "float(4, 6) a, float(6, 5) b, int64(6) q";
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, q(k)) * b(k, j)", inputs), "0:101 | 1:011");
  EXPECT_EQ(operands_in("y(i, j) +=! a(i, q(k)) * b(k, j) where k <= i + 2", inputs), "none");
}

// "order m:m_axes n_axes", or "none".
std::string arranged(const std::string& body, const std::string& inputs, bool reshapes = true) {
  const LoweredGraph graph(parse_graph("def f(" + inputs + ") -> (y) { " + body + " }"));
  const Stage& stage = graph.stages.front();
  const std::optional<Arrangement> a =
      arrangement_of(graph, stage, *contraction_of(graph, stage), reshapes);
  if (!a) return "none";
  std::string text;
  for (size_t axis : a->order) text += std::to_string(axis);
  return text + " " + std::to_string(a->m) + ":" + std::to_string(a->m_axes) + " " +
         std::to_string(a->n_axes);
}

TEST(Arrangement, AProductIsAsItIs) {
  EXPECT_EQ(arranged("y(i, j) +=! a(i, k) * b(k, j)", "float(64, 32) a, float(32, 64) b"),
            "01 0:1 1");
  EXPECT_EQ(arranged("y(s, i, j) +=! a(s, i, k) * b(k, j)", "float(3, 64, 32) a, float(32, 64) b"),
            "012 1:1 1");
  EXPECT_EQ(arranged("y(s, i, j) +=! a(s, i, k) * b(k, j)", "float(8, 16, 32) a, float(32, 64) b"),
            "012 0:2 1")
      << "short ones are joined";
}

TEST(Arrangement, AConvolutionIsAProductForEachImage) {
  const std::string body = "y(i, o, h, w) +=! x(i, c, h + a, w + b) * f(o, c, a, b)";
  EXPECT_EQ(arranged(body, "float(8, 64, 34, 34) x, float(64, 64, 3, 3) f"), "0123 1:1 2");
  EXPECT_EQ(arranged(body, "float(64, 64, 9, 9) x, float(64, 64, 3, 3) f"), "1023 0:1 3")
      << "images of 49 points are joined";
  EXPECT_EQ(arranged(body, "float(64, 4, 9, 9) x, float(64, 4, 1, 1) f"), "none");
  EXPECT_EQ(arranged(body, "float(64, 16, 9, 9) x, float(64, 16, 1, 1) f"), "0123 1:1 2")
      << "moving the results takes longer";
}

TEST(Arrangement, BatchesGoToTheFront) {
  EXPECT_EQ(
      arranged("y(i, j, s) +=! a(s, i, k) * b(s, k, j)", "float(4, 64, 32) a, float(4, 32, 64) b"),
      "201 1:1 1");
  EXPECT_EQ(arranged("y(i, j, s) +=! a(s, i, k) * b(s, k, j)",
                     "float(4, 64, 32) a, float(4, 32, 64) b", false),
            "none");
  EXPECT_EQ(arranged("y(s, i, h, j) +=! a(s, h, i, k) * b(s, k, h, j)",
                     "float(2, 3, 64, 32) a, float(2, 32, 3, 64) b"),
            "0123 1:1 1")
      << "one may stand between";
}

TEST(Contraction, ThinOnesHaveFewColumns) {
  const auto is_thin = [](const std::string& columns) {
    const LoweredGraph graph(parse_graph("def f(float(4096, 64) a, float(64, " + columns +
                                         ") b) -> (y) { y(i, j) +=! a(i, k) * b(k, j) }"));
    return is_thin_product(graph, graph.stages.front());
  };
  for (const char* few : {"4", "6", "7"}) EXPECT_TRUE(is_thin(few)) << few;
  for (const char* other : {"1", "3", "8", "64"}) EXPECT_FALSE(is_thin(other)) << other;
}

TEST(Arrangement, ShortSidesAreNoProducts) {
  const auto product = [](const std::string& m, const std::string& n, const std::string& k) {
    return arranged("y(i, j) +=! a(i, k) * b(k, j)",
                    "float(" + m + ", " + k + ") a, float(" + k + ", " + n + ") b");
  };
  EXPECT_EQ(product("16", "16", "16"), "01 0:1 1");
  EXPECT_EQ(product("15", "16", "16"), "none");
  EXPECT_EQ(product("16", "15", "16"), "none");
  EXPECT_EQ(product("16", "16", "15"), "none");
}

}  // namespace
}  // namespace adjit::sched
