// tests/autosched/analysis/reads/factored_sum_test.cpp -- terms of a sum, taken apart by an axis.
#include "autosched/analysis/reads/factored_sum.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {
namespace {

LoweredGraph sum_of(const std::string& term, const std::string& where = "", int axis_extent = 2) {
  return LoweredGraph(parse_graph(
      "def f(float(16, 3) x, float(16, 3) w, half(16) h) -> (y) {\n  y(j, k) +=! " + term +
      " where j in 0:3, k in 0:4, r_i in 0:16, r_o in 0:" + std::to_string(axis_extent) + where +
      "\n}"));
}

FactoredSum of(LoweredGraph graph, size_t axis = 3) {
  return factored_sum(graph, graph.stages[0], axis);
}

TEST(FactoredSum, FactorsAreOfTheAxisOrNot) {
  const FactoredSum sum = of(sum_of("x(r_i, j) * w(r_i, r_o) * -x(r_i, k)"));
  EXPECT_EQ(sum.refusal, nullptr);
  EXPECT_FALSE(sum.condition.valid());
  EXPECT_EQ(sum.invariant.factors.size(), 2u);
  EXPECT_TRUE(sum.invariant.negative);
  EXPECT_EQ(sum.dependent.factors.size(), 1u);
}

TEST(FactoredSum, AChoiceBetweenATermAndZeroIsItsCondition) {
  LoweredGraph graph = sum_of("select(r_o == k, x(r_i, j), 0.0)");
  const FactoredSum sum = factored_sum(graph, graph.stages[0], 3);
  EXPECT_EQ(sum.refusal, nullptr);
  EXPECT_EQ(sum.condition, graph.pool.operand(graph.stages[0].bodies[0], 0));
  EXPECT_EQ(sum.invariant.factors.size(), 1u);
  EXPECT_TRUE(sum.dependent.factors.empty())
      << "the condition alone tells points of the axis apart";
}

TEST(FactoredSum, WhatHasNoneIsRefused) {
  const auto why = [](const FactoredSum& sum) {
    return std::string(sum.refusal ? sum.refusal : "");
  };
  EXPECT_EQ(why(of(sum_of("w(r_i, r_o) * x(r_i, r_o)"))),
            "all factors of its terms depend on the axis");
  EXPECT_EQ(why(of(sum_of("w(r_i, j) * x(r_i, k)"))), "no factor of its terms depends on the axis");
  EXPECT_EQ(why(of(sum_of("x(r_i, j) * w(r_i, r_o)", ", r_o <= j"))), "conditions bound the axis");
  EXPECT_EQ(why(of(sum_of("x(r_i, j) * w(r_i, r_o)"), 0)), "it has no such axis");
  EXPECT_EQ(why(of(sum_of("x(r_i, j) * w(r_i, r_o)"), 9)), "it has no such axis");
  EXPECT_EQ(
      why(of(LoweredGraph(parse_graph(
                 "def f(int64(16, 3) x, int64(16, 2) w) -> (y) {\n"
                 "  y(j) +=! x(r_i, j) * w(r_i, r_o) where j in 0:3, r_i in 0:16, r_o in 0:2\n}")),
             2)),
      "its terms are no floats that are added up as they are");
  EXPECT_EQ(
      why(of(
          LoweredGraph(parse_graph(
              "def f(float(16, 3) x, float(16, 2) w) -> (y) {\n"
              "  y(j) max=! x(r_i, j) * w(r_i, r_o) where j in 0:3, r_i in 0:16, r_o in 0:2\n}")),
          2)),
      "only one sum has factors");
}

}  // namespace
}  // namespace adjit::sched
