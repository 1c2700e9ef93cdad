// tests/autosched/moves/substitution_test.cpp -- stages' bodies in place of the reads of their
// results.
#include "autosched/moves/substitution.hpp"

#include <gtest/gtest.h>

#include "autosched/program/limits.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Of a graph, its last stage with the bodies of all others written into it; it means the same.
Graph substituted(const Graph& graph) {
  Graph now = graph;
  Substitution substitution(now);
  for (size_t s = 0; s + 1 < now.stages.size(); ++s) {
    substitution.apply(now.stages[s]);
    substitution.replace(now.stages[s]);
  }
  substitution.apply(now.stages.back());
  expect_close(interpret(graph, some_inputs(graph)), interpret(compact(now), some_inputs(graph)));
  return now;
}

TEST(Substitution, ReadsBecomeTheBodiesAtTheirIndices) {
  const Graph g =
      substituted(parse_graph("def f(float(9) x) -> (y) {\n t(i) = exp(x(i))\n"
                              " y(i) = t(8 - i) + t(i) where i in 0:9\n}"));
  EXPECT_EQ(tensors_read(g, g.stages[1]), g.inputs);
}

TEST(Substitution, PredicatesOfReadsGuardTheReadsOfTheBody) {
  const Graph g =
      substituted(parse_graph("def f(float(9) x) -> (y) {\n t(i) = x(i) + 1.0\n"
                              " y(i) = t(i - 3 where 3 <= i) where i in 0:12\n}"));
  for (ExprId id : reachable(g.pool, g.stages[1].bodies))
    if (g.pool.is(id, Op::Read)) {
      EXPECT_TRUE(g.pool.read_predicate(id).valid()) << "x(i - 3) is outside for i < 3";
    }
}

TEST(Substitution, WhereRowsExcludeAPointItsValueIsZero) {
  substituted(
      parse_graph("def f(float(9) x) -> (y) {\n t(i) = exp(x(i)) where i in 0:9, i >= 2\n"
                  " y(i) = t(8 - i) * 2.0 where i in 0:9\n}"));
}

TEST(Substitution, WhatIsForgottenIsReadAgain) {
  Graph g = parse_graph(
      "def f(float(9) x) -> (y, z) {\n t(i) = exp(x(i))\n y(i) = t(i) + 1.0\n"
      " z(i) = t(i) + 2.0\n}");
  Substitution substitution(g);
  substitution.replace(g.stages[0]);
  substitution.apply(g.stages[1]);
  substitution.forget(g.stages[0]);
  substitution.apply(g.stages[2]);
  EXPECT_EQ(tensors_read(g, g.stages[1]), g.inputs);
  EXPECT_EQ(tensors_read(g, g.stages[2]), g.stages[0].results);
}

// Every stage reads the one before at two points: their bodies double, and no stage may hold
// thousands of them.
TEST(Substitution, BodiesBeyondTheLimitAreRefused) {
  std::string text = "def f(float(64) t0) -> (y) {\n";
  for (int k = 1; k <= 40; ++k) {
    const std::string last = "t" + std::to_string(k - 1);
    text += " t" + std::to_string(k) + "(i) = sin(" + last + "(63 - i)) * " + last +
            "(i // 2) where i in 0:64\n";
  }
  Graph g = parse_graph(text + " y(i) = t40(i)\n}");
  Substitution substitution(g);
  expect_refused(
      [&] {
        for (Stage& stage : g.stages) {
          substitution.apply(stage);
          substitution.replace(stage);
        }
      },
      "a body of more than " + std::to_string(kNodeLimit) + " nodes");
}

}  // namespace
}  // namespace adjit::sched
