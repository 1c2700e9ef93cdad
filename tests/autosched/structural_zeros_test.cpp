// tests/autosched/structural_zeros_test.cpp -- rows that only leave terms out that are 0 anyway.
#include "autosched/structural_zeros.hpp"

#include "autosched/moves.hpp"
#include "autosched/region.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

// L as the body says, and y(i, j) += x(i, r) * L(j, r) where `row`.
Graph product(const std::string& body, const std::string& row,
              const std::string& term = "x(i, r) * L(j, r)") {
  return parse_graph("def f(float(9, 8) x, float(8, 8) a) -> (y) {\n  L(j, k) = " + body +
                     " where j in 0:8, k in 0:8\n  y(i, j) +=! " + term +
                     " where i in 0:9, j in 0:8, r in 0:8, " + row + "\n}");
}

bool zero(const Graph& graph) {
  const Stage& stage = graph.stages.back();
  return is_zero_outside(graph, stage, stage.domain.inequalities.front());
}

TEST(StructuralZeros, OfATriangle) {
  const std::string lower = "(k <= j ? a(j, k) : 0.0)";
  EXPECT_TRUE(zero(product(lower, "r <= j")));
  EXPECT_TRUE(zero(product(lower, "r <= j + 1"))) << "a wider row leaves less out";
  EXPECT_FALSE(zero(product(lower, "r <= j - 1"))) << "the diagonal is not 0";
  EXPECT_FALSE(zero(product(lower, "r >= j")));
  EXPECT_TRUE(zero(product("(k < j ? a(j, k) : (k == j ? exp(a(j, j)) : 0.0))", "r <= j")));
  EXPECT_TRUE(zero(product("(k > j ? 0.0 : a(k, j) * 2.0)", "r <= j")));
  EXPECT_FALSE(zero(product("(k <= j ? a(j, k) : 1.0)", "r <= j")));
  EXPECT_FALSE(zero(product("a(j, k)", "r <= j")));
  EXPECT_FALSE(zero(product("(a(j, k) > 0.0 ? a(j, k) : 0.0)", "r <= j"))) << "data decides";
}

TEST(StructuralZeros, OfWhatMultiplies) {
  const std::string lower = "(k <= j ? a(j, k) : 0.0)";
  const auto of = [&](const std::string& term) { return zero(product(lower, "r <= j", term)); };
  EXPECT_TRUE(of("L(j, r) * (x(i, r) - x(i, 0))"));
  EXPECT_TRUE(of("x(i, r) * (2.0 * L(j, r))"));
  EXPECT_TRUE(of("L(j, r) / x(i, r) * x(0, r)"));
  EXPECT_FALSE(of("x(i, r) / L(j, r) * x(i, 0)")) << "it divides";
  EXPECT_FALSE(of("x(i, r) * (L(j, r) + 1.0)"));
  EXPECT_FALSE(of("x(i, r) * L(r, j)")) << "the other triangle";
}

TEST(StructuralZeros, Bands) {
  const std::string band = "(j - k <= 2 && k - j <= 1 ? a(j, k) : 0.0)";
  EXPECT_TRUE(zero(product(band, "r <= j + 1")));
  EXPECT_TRUE(zero(product(band, "r >= j - 2")));
  EXPECT_FALSE(zero(product(band, "r >= j - 1")));
}

TEST(StructuralZeros, ThroughPackedCopies) {
  Program p = plain(product("(k <= j ? a(j, k) : 0.0)", "r <= j"));
  const size_t product = p.graph.stages.size() - 1;
  const Stage& stage = p.graph.stages[product];
  for (ExprId id : reads_of(p.graph, stage)) {
    const TensorId operand = p.graph.pool.read_tensor(id);
    if (p.graph.info(operand).name != "L") continue;
    const Packing packing{{{0, 3, 0}, {1, 1, 0}, {0, 1, 3}}, {}, {}, false, false};
    p = pack(std::move(p), product, operand, packing);
    break;
  }
  ASSERT_EQ(p.graph.stages.size(), 3u);
  EXPECT_TRUE(zero(p.graph));
}

}  // namespace
}  // namespace adjit
