// tests/autosched/analysis/reads/factored_sum_test.cpp -- terms of a sum, taken apart by an axis.
#include "autosched/analysis/reads/factored_sum.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {
namespace {

LoweredGraph sum_of(const std::string& term, const std::string& where = "") {
  return LoweredGraph(parse_graph("def f(float(16, 3) x, float(16, 3) w) -> (y) {\n  y(j, k) +=! " +
                                  term + " where j in 0:3, k in 0:4, r_i in 0:16, r_o in 0:2" +
                                  where + "\n}"));
}

FactoredSum of(const LoweredGraph& graph, size_t axis = 3) {
  return factored_sum(graph, graph.stages[0], axis);
}
std::string refusal(const LoweredGraph& graph, size_t axis = 3) {
  const char* refused = of(graph, axis).refusal;
  return refused ? refused : "";
}

TEST(FactoredSum, FactorsStandAroundWhatDependsOnTheAxis) {
  const LoweredGraph graph = sum_of("-(x(r_i, j) * tanh(w(r_i, r_o))) / x(r_i, k)");
  const FactoredSum sum = of(graph);
  EXPECT_EQ(sum.refusal, nullptr);
  EXPECT_FALSE(sum.condition.valid());
  EXPECT_EQ(sum.invariant.size(), 2u);
  EXPECT_TRUE(graph.pool.is(sum.dependent, Op::Tanh));
}

TEST(FactoredSum, AChoiceBetweenATermAndZeroIsItsCondition) {
  const LoweredGraph graph = sum_of("select(r_o == k, x(r_i, j), 0.0)");
  const FactoredSum sum = of(graph);
  EXPECT_EQ(sum.refusal, nullptr);
  EXPECT_EQ(sum.condition, graph.pool.operand(graph.stages[0].bodies[0], 0));
  EXPECT_EQ(sum.invariant.size(), 1u);
  EXPECT_FALSE(sum.dependent.valid()) << "the condition alone tells points of the axis apart";
}

// Weights are small; what data says, or divides by, may be anything. What is multiplied with it
// first is not taken away from it.
TEST(FactoredSum, WhatDependsOnTheAxisIsSmall) {
  for (const char* weight :
       {"select(r_o == 0, 1.0 - (w(r_i, k) - floor(w(r_i, k))), w(r_i, k) - floor(w(r_i, k)))",
        "float((r_i * 64 + r_o) % 2048) / 2048.0", "sin(w(r_i, r_o)) * tanh(w(r_i, r_o)) - 2.0",
        "float(r_o)"})
    EXPECT_EQ(refusal(sum_of("x(r_i, j) * (" + std::string(weight) + ")")), "") << weight;
  for (const char* term :
       {"x(r_i, j) * w(r_i, r_o)", "x(r_i, j) * w(r_i, r_o) * x(r_i, k)",
        "x(r_i, j) * exp(w(r_i, r_o))", "x(r_i, j) * (w(r_i, r_o) - floor(w(r_i, k)))"})
    EXPECT_EQ(refusal(sum_of(term)),
              "what depends on the axis may be so large that sums of it overflow")
        << term;
  for (const char* term :
       {"x(r_i, j) / w(r_i, r_o)", "(x(r_i, j) / w(r_i, r_o)) * (x(r_i, j) / w(r_i, r_o))"})
    EXPECT_EQ(refusal(sum_of(term)), "all factors of its terms depend on the axis") << term;
}

TEST(FactoredSum, WhatHasNoneIsRefused) {
  EXPECT_EQ(refusal(sum_of("w(r_i, r_o) * x(r_i, r_o)")),
            "all factors of its terms depend on the axis");
  EXPECT_EQ(refusal(sum_of("w(r_i, j) * x(r_i, k)")), "no factor of its terms depends on the axis");
  EXPECT_EQ(refusal(sum_of("x(r_i, j) * float(r_o)", ", r_o <= j")), "conditions bound the axis");
  EXPECT_EQ(refusal(sum_of("x(r_i, j) * float(r_o)"), 0), "it has no such axis");
  EXPECT_EQ(refusal(sum_of("x(r_i, j) * float(r_o)"), 9), "it has no such axis");
  EXPECT_EQ(refusal(LoweredGraph(parse_graph(
                        "def f(int64(16, 3) x) -> (y) {\n"
                        "  y(j) +=! x(r_i, j) * r_o where j in 0:3, r_i in 0:16, r_o in 0:2\n}")),
                    2),
            "its terms are no floats that are added up as they are");
  EXPECT_EQ(
      refusal(LoweredGraph(parse_graph("def f(float(16, 3) x) -> (y) {\n  y(j) max=! x(r_i, j) * "
                                       "float(r_o) where j in 0:3, r_i in 0:16, r_o in 0:2\n}")),
              2),
      "only one sum has factors");
}

}  // namespace
}  // namespace adjit::sched
