// tests/runtime/diff/rules/accumulate_test.cpp -- contributions to a tensor become few stages.
#include "runtime/diff/rules/accumulate.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// A tensor x (6) to which contributions are made by reads of g (6 x 4).
struct Contributions {
  Graph graph;
  TensorId x, g;
  std::vector<Contribution> all;

  explicit Contributions(DType dtype = DType::Float64)
      : x(add_input(graph, "x", dtype, {6})), g(add_input(graph, "g", DType::Float64, {6, 4})) {}

  ExprPool& pool() { return graph.pool; }
  ExprId g_at(ExprId i, ExprId j) {
    const ExprId index[] = {i, j};
    return read(graph, g, index);
  }
  ExprId n(int64_t value) { return pool().constant_int(value); }

  // g(i, column), for every i.
  Contribution pointwise(int64_t column) {
    Contribution c;
    c.domain = shape_box({6});
    c.body = g_at(pool().axis(0), n(column));
    return c;
  }
  // sum_j g(i, j).
  Contribution gather(size_t origin) {
    Contribution c;
    c.domain.extents = {6, 4};
    c.domain.output_rank = 1;
    c.body = g_at(pool().axis(0), pool().axis(1));
    c.origin = origin;
    return c;
  }
  // g(i, column) to element target of those that are there.
  Contribution scatter(ExprId target, int64_t column) {
    Contribution c;
    c.domain.extents = {6};
    c.body = g_at(pool().axis(0), n(column));
    c.target = {target};
    c.scatter = true;
    c.out_of_range = OutOfRange::Drop;
    return c;
  }
  Cotangent summed() { return accumulate(graph, x, all, {{"model.py", 3, "add"}}); }

  // Its values for g(i, j) = 10 i + j.
  std::vector<double> values(const Cotangent& cotangent) {
    Graph whole = graph;
    whole.outputs = {cotangent.tensor};
    verify(whole);
    std::vector<Array> inputs;
    for (TensorId t : {x, g})
      inputs.push_back(Array::zeros(graph.info(t).dtype, graph.info(t).shape));
    for (int64_t e = 0; e < 24; ++e) inputs[1].set(e, static_cast<double>(e / 4 * 10 + e % 4));
    const Array found = interpret(whole, inputs)[0];
    std::vector<double> list;
    for (int64_t e = 0; e < found.element_count(); ++e) list.push_back(found.at(e));
    return list;
  }
};

TEST(Accumulate, NoContributionIsZero) {
  Contributions c;
  EXPECT_TRUE(c.summed().zero());
  EXPECT_TRUE(c.graph.stages.empty());
}

TEST(Accumulate, PointwiseTermsShareOneStage) {
  Contributions c;
  c.all = {c.pointwise(0), c.pointwise(1), c.pointwise(3)};
  const Cotangent sum = c.summed();
  ASSERT_EQ(c.graph.stages.size(), 1u);
  EXPECT_EQ(c.graph.info(sum.tensor).name, "d_x");
  EXPECT_EQ(c.graph.stages[0].lines.size(), 1u);
  EXPECT_FALSE(sum.support.valid());
  EXPECT_EQ(c.values(sum), (std::vector<double>{4, 34, 64, 94, 124, 154}));
}

TEST(Accumulate, GathersOfOneStageShareASumAndOthersHaveTheirOwn) {
  Contributions c;
  c.all = {c.gather(1), c.gather(1), c.gather(2)};
  const Cotangent sum = c.summed();
  ASSERT_EQ(c.graph.stages.size(), 3u) << print(c.graph);
  EXPECT_EQ(c.graph.stages[0].combiner.kind, CombinerKind::Sum);
  EXPECT_EQ(c.graph.stages[1].combiner.kind, CombinerKind::Sum);
  EXPECT_EQ(c.graph.stages[2].combiner.kind, CombinerKind::None);
  EXPECT_EQ(c.values(sum)[1], 3 * (4 * 10 + 6));
}

TEST(Accumulate, ALoneSumIsTakenAsItIs) {
  Contributions c;
  c.all = {c.gather(1)};
  const Cotangent sum = c.summed();
  ASSERT_EQ(c.graph.stages.size(), 1u);
  EXPECT_EQ(c.graph.stages[0].results[0], sum.tensor);
}

TEST(Accumulate, ALoneConstantIsNoStage) {
  Contributions c;
  c.all = {c.pointwise(0)};
  c.all[0].body = c.pool().constant(3, DType::Float64);
  const Cotangent sum = c.summed();
  EXPECT_TRUE(c.graph.stages.empty());
  EXPECT_FALSE(sum.tensor.valid());
  EXPECT_FALSE(sum.zero());
  const ExprId predicate = c.pool().make(Op::Lt, {c.pool().axis(0), c.n(2)});
  EXPECT_EQ(read_cotangent(c.graph, sum, {}), sum.constant);
  EXPECT_EQ(read_cotangent(c.graph, sum, {}, predicate),
            c.pool().select(predicate, sum.constant, c.pool().constant(0, DType::Float64)));
  EXPECT_EQ(c.values({materialised(c.graph, c.x, sum), {}, {}}), std::vector<double>(6, 3));
}

TEST(Accumulate, ScattersStartFromTheSumSoFar) {
  Contributions c;
  c.all = {c.scatter(c.pool().sub(c.pool().axis(0), c.n(1)), 0), c.pointwise(1),
           c.scatter(c.n(2), 3)};
  const Cotangent sum = c.summed();
  ASSERT_EQ(c.graph.stages.size(), 3u) << print(c.graph);
  EXPECT_FALSE(c.graph.stages[0].initial.valid());
  EXPECT_EQ(c.graph.stages[1].initial, c.graph.stages[0].results[0]);
  EXPECT_EQ(c.graph.stages[2].initial, c.graph.stages[1].results[0]);
  EXPECT_EQ(c.values(sum), (std::vector<double>{11, 31, 51 + 168, 71, 91, 51}));
}

TEST(Accumulate, HalfTypesAddUpInTheAccumulator) {
  Contributions c(DType::Float16);
  for (Contribution term : {c.pointwise(1), c.scatter(c.n(0), 1)}) {
    term.body = c.pool().cast(term.body, DType::Float32);
    c.all.push_back(term);
  }
  const Cotangent sum = c.summed();
  EXPECT_EQ(c.graph.info(sum.tensor).dtype, DType::Float16);
  const ExprId index[] = {c.pool().axis(0)};
  EXPECT_EQ(c.pool().dtype(read_cotangent(c.graph, sum, index)), DType::Float32);
  for (const Stage& stage : c.graph.stages)
    if (stage.kind == StageKind::Scatter) {
      EXPECT_EQ(c.graph.info(stage.results[0]).dtype, DType::Float32);
    }
  EXPECT_EQ(c.values(sum)[0], 1 + 156);
}

TEST(Accumulate, LongSumsAreTreesOfSmallStages) {
  Contributions c;
  for (int64_t k = 0; k < 1000; ++k) {
    Contribution term = c.pointwise(k % 4);
    term.body = c.pool().mul(term.body, c.pool().constant(static_cast<double>(k), DType::Float64));
    c.all.push_back(term);
  }
  const Cotangent sum = c.summed();
  EXPECT_EQ(c.graph.stages.size(), 17u) << "16 of 64 terms at most, and what adds them up";
  for (const Stage& stage : c.graph.stages)
    EXPECT_LE(reachable(c.pool(), stage.bodies).size(), 5 * kTermsPerStage);
  double expected = 0;
  for (int k = 0; k < 1000; ++k) expected += k * (10 + k % 4);
  EXPECT_EQ(c.values(sum)[1], expected);
}

TEST(Accumulate, ATermOfFewerElementsIsGuardedBesideOthers) {
  Contributions c;
  c.all = {c.pointwise(0), c.pointwise(1)};
  c.all[1].domain.inequalities = {Affine::variable(0) - Affine(4)};
  EXPECT_EQ(c.values(c.summed()), (std::vector<double>{0, 10, 20, 30, 81, 101}));
  Contributions alone;
  alone.all = {alone.pointwise(1)};
  alone.all[0].domain.inequalities = {Affine::variable(0) - Affine(4)};
  const Cotangent sum = alone.summed();
  EXPECT_EQ(alone.graph.stages[0].domain, alone.all[0].domain) << "by itself it keeps its rows";
  EXPECT_EQ(alone.values(sum), (std::vector<double>{0, 0, 0, 0, 41, 51}));
}

TEST(Accumulate, SupportsThatCoverTheTensorAreEverywhere) {
  Contributions c;
  const ExprId i = c.pool().axis(0);
  const auto where = [&](ExprId condition) {
    RestrictedDomain support{shape_box({6}), {}};
    support.rest = restrict_by(c.pool(), condition, support.domain).rest;
    return support;
  };
  const RestrictedDomain early = where(c.pool().make(Op::Lt, {i, c.n(3)})),
                         late = where(c.pool().make(Op::Le, {c.n(3), i})),
                         last = where(c.pool().make(Op::Le, {c.n(5), i}));
  c.all = {c.pointwise(0), c.pointwise(1)};
  c.all[0].support = early;
  c.all[1].support = late;
  EXPECT_FALSE(c.summed().support.valid());
  c.all[1].support = last;
  EXPECT_EQ(c.summed().support,
            c.pool().make(Op::Or, {condition_of(c.pool(), early), condition_of(c.pool(), last)}));
  c.all[1].support = {};
  EXPECT_FALSE(c.summed().support.valid()) << "one is everywhere";
}

}  // namespace
}  // namespace adjit::testing
