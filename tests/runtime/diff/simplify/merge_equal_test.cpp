// tests/runtime/diff/simplify/merge_equal_test.cpp -- equal stages become one.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

TEST(Merge, EqualStagesKeepAllLines) {
  Forward f;
  const TensorId x = f.input("x", {4});
  const Body body = [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); };
  const TensorId a = f.map("a", {4}, body), b = f.map("b", {4}, body);
  const TensorId p = f.map("p", {4}, [&](const Axes& i) { return f.at(a, i) * 2.0; });
  const TensorId q = f.map("q", {4}, [&](const Axes& i) { return f.at(b, i) * 2.0; });
  const Graph s = simplify(f.returning({p, q}));
  EXPECT_EQ(s.stages.size(), 2u) << print(s);
  EXPECT_EQ(s.stages[0].lines.size(), 2u);
}

// Two stages over x (6), alike but for what `change` does to the second.
size_t stages_left(const std::function<void(Graph&, Stage&)>& change, bool scatter = false) {
  Graph g;
  const TensorId x = add_input(g, "x", DType::Float64, {6});
  const ExprId i[] = {g.pool.axis(0)};
  for (int k = 0; k < 2; ++k) {
    Stage stage;
    stage.kind = scatter ? StageKind::Scatter : StageKind::Compute;
    stage.domain.extents = {6};
    stage.combiner.kind = CombinerKind::Max;
    stage.bodies = {read(g, x, i)};
    if (scatter) stage.target = {i[0]};
    stage.results = {add_tensor(g, "y", DType::Float64,
                                scatter ? std::vector<int64_t>{6} : std::vector<int64_t>{})};
    if (k == 1) change(g, stage);
    g.stages.push_back(stage);
    g.outputs.push_back(stage.results[0]);
  }
  const Graph merged = merge_equal_stages(g);
  EXPECT_TRUE(same_values(g, merged));
  return compact(merged).stages.size();
}

TEST(Merge, StagesThatDifferInAnyPartStayTwo) {
  EXPECT_EQ(stages_left([](Graph&, Stage&) {}), 1u);
  EXPECT_EQ(stages_left([](Graph&, Stage& s) { s.lines = {{"model.py", 4, "max"}}; }), 1u);
  const std::vector<std::function<void(Graph&, Stage&)>> changes{
      [](Graph&, Stage& s) { s.combiner.kind = CombinerKind::Min; },
      [](Graph&, Stage& s) { s.combiner.ties = Ties::First; },
      [](Graph&, Stage& s) { s.stop_gradient = true; },
      [](Graph&, Stage& s) { s.region = 1; },
      [](Graph&, Stage& s) { s.domain.inequalities = {Affine(3) - Affine::variable(0)}; },
      [](Graph&, Stage& s) { s.domain.equalities = {Affine(3) - Affine::variable(0)}; },
      [](Graph&, Stage& s) { s.domain.extents = {5}; },
      [](Graph& g, Stage& s) { s.bodies = {g.pool.neg(s.bodies[0])}; },
  };
  for (size_t k = 0; k < changes.size(); ++k) EXPECT_EQ(stages_left(changes[k]), 2u) << k;
}

TEST(Merge, ScattersThatDifferInTargetModeOrStartStayTwo) {
  EXPECT_EQ(stages_left([](Graph&, Stage&) {}, true), 1u);
  EXPECT_EQ(
      stages_left([](Graph& g,
                     Stage& s) { s.target = {g.pool.sub(g.pool.constant_int(5), g.pool.axis(0))}; },
                  true),
      2u);
  EXPECT_EQ(stages_left([](Graph&, Stage& s) { s.out_of_range = OutOfRange::Clip; }, true), 2u);
  EXPECT_EQ(stages_left([](Graph& g, Stage& s) { s.initial = g.inputs[0]; }, true), 2u);
}

TEST(Merge, WhatReadsMergedStagesMergesAsWell) {
  const Graph g = parse_graph(
      "def f(double(4) x) -> (p, q) {\n a(i) = exp(x(i))\n"
      " b(i) = exp(x(i))\n p() +=! a(r) * 2.0\n q() +=! b(r) * 2.0\n}");
  const Graph s = merge_equal_stages(g);
  EXPECT_EQ(s.outputs[0], s.outputs[1]);
  EXPECT_TRUE(same_values(g, s));
}

TEST(Merge, AtMostSixtyFourLinesAreKept) {
  Forward f;
  const TensorId x = f.input("x", {4});
  std::vector<TensorId> results;
  for (int k = 0; k < 100; ++k) {
    results.push_back(f.map("y", {4}, [&](const Axes& i) { return f.at(x, i) * 2.0; }));
    f.graph.stages.back().lines = {{"model.py", k, "mul"}};
  }
  const Graph s = compact(merge_equal_stages(f.returning(results)));
  ASSERT_EQ(s.stages.size(), 1u);
  EXPECT_EQ(s.stages[0].lines.size(), 64u);
}

}  // namespace
}  // namespace adjit::testing
