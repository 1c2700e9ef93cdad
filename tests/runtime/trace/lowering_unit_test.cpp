// tests/runtime/trace/lowering_unit_test.cpp -- one unit of index notation: rows, guards and what
// is selected.
#include <gtest/gtest.h>

#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"
#include "tests/runtime/trace/notation_builder.hpp"

namespace adjit::testing {
namespace {

TEST(LoweringUnit, ADataConditionGuardsReads) {
  // select(I[i] < 2, A[I[i]], -1): the read is guarded, not executed out of range.
  NotationBuilder b;
  const TensorId A = b.input(f64({2}, {10, 20})), I = b.input(i64({3}, {1, 5, 0}));
  const AxisHandle i = add_axis(b.n, 0, 3);
  const ScalarExpr at = b.at(I, {b.v(i)});
  const ScalarExpr inside = b.op(Op::Lt, at, b.lit(int64_t{2}));
  EXPECT_EQ(b.run(b.compute({i}, select(b.n, inside, b.at(A, {at}), b.lit(-1.0)))),
            (Values{20, -1, 10}));
}

TEST(LoweringUnit, ALiftedReductionUnderADataConditionGuardsItsReads) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 2}, {1, 2, 3, 4})), I = b.input(i64({3}, {1, 5, 0}));
  const AxisHandle i = add_axis(b.n, 0, 3), k = add_axis(b.n, 0, 2);
  const ScalarExpr row = b.at(I, {b.v(i)});
  const ScalarExpr total = b.sum(b.at(A, {row, b.v(k)}), {k});
  const ScalarExpr inside = b.op(Op::Lt, row, b.lit(int64_t{2}));
  EXPECT_EQ(b.run(b.compute({i}, select(b.n, inside, total, b.lit(-1.0)))), (Values{7, -1, 3}));
}

TEST(LoweringUnit, WhereBecomesRows) {
  // A running sum: where k <= i, and only every second k.
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, 2, 4, 8}));
  const AxisHandle i = add_axis(b.n, 0, 4), k = add_axis(b.n, 0, 4);
  const ScalarExpr even = b.op(Op::Eq, b.op(Op::Mod, b.v(k), b.lit(int64_t{2})), b.lit(int64_t{0}));
  const ScalarExpr where = b.op(Op::And, b.op(Op::Le, b.v(k), b.v(i)), even);
  const Graph graph = b.finish(b.compute({i}, b.sum(b.at(A, {b.v(k)}), {k}, where)));
  ASSERT_EQ(graph.stages.size(), 1u);
  const Domain& domain = graph.stages[0].domain;
  EXPECT_EQ(domain.inequalities.size(), 1u);
  EXPECT_EQ(domain.equalities.size(), 1u);
  EXPECT_EQ(graph.pool[graph.stages[0].bodies[0]].op, Op::Read);
  EXPECT_EQ(values(interpret(graph, b.arrays)[0]), (Values{1, 1, 5, 5}));
}

TEST(LoweringUnit, ASelectAgainstZeroUnderASumBecomesARow) {
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, 2, 4, 8}));
  const AxisHandle j = add_axis(b.n, 0, 4), k = add_axis(b.n, 0, 4);
  const ScalarExpr picked =
      select(b.n, b.op(Op::Eq, b.v(k), b.v(j)), b.at(A, {b.v(k)}), b.lit(int64_t{0}));
  const Graph graph = b.finish(b.compute({j}, b.sum(picked, {k})));
  EXPECT_EQ(graph.stages[0].domain.equalities.size(), 1u);
  EXPECT_EQ(values(interpret(graph, b.arrays)[0]), (Values{1, 2, 4, 8}));
}

TEST(LoweringUnit, WhereKeepsReadsInBounds) {
  // A convolution with padding: where 0 <= i + r - 1 < 3.
  NotationBuilder b;
  const TensorId A = b.input(f64({3}, {1, 2, 4}));
  const AxisHandle i = add_axis(b.n, 0, 3), r = add_axis(b.n, 0, 3);
  const ScalarExpr at = b.op(Op::Sub, b.op(Op::Add, b.v(i), b.v(r)), b.lit(int64_t{1}));
  const ScalarExpr where =
      b.op(Op::And, b.op(Op::Le, b.lit(int64_t{0}), at), b.op(Op::Lt, at, b.lit(int64_t{3})));
  EXPECT_EQ(b.run(b.compute({i}, b.sum(b.at(A, {at}), {r}, where))), (Values{3, 7, 6}));
}

TEST(LoweringUnit, ADataDependentWhereSelects) {
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, -2, 4, -8}));
  const AxisHandle k = add_axis(b.n, 0, 4);
  const ScalarExpr positive = b.op(Op::Lt, b.lit(0.0), b.at(A, {b.v(k)}));
  const AxisHandle axes[] = {k};
  const ScalarExpr largest = reduce(b.n, CombinerKind::Min, b.at(A, {b.v(k)}), axes, positive);
  EXPECT_EQ(b.run(b.compute({}, largest)), (Values{1}));
}

// The condition of the sum reads what the sum reads, at an index that the data tells: it can keep
// neither of them in range.
TEST(LoweringUnit, AConditionMayReadWhatItGuards) {
  NotationBuilder b;
  const TensorId A = b.input(f64({3}, {1, -2, 3})), I = b.input(i64({3}, {2, 1, 0}));
  const TensorId B = b.input(f64({2}, {10, 20}));
  const AxisHandle i = add_axis(b.n, 0, 3), k = add_axis(b.n, 0, 2);
  const ScalarExpr a = b.at(A, {b.at(I, {b.v(i)})});
  const ScalarExpr sum = b.sum(b.op(Op::Mul, a, b.at(B, {b.v(k)})), {k});
  const ScalarExpr both = b.op(Op::And, b.op(Op::Lt, b.lit(0.0), a),
                               b.op(Op::Lt, b.at(A, {b.at(I, {b.v(i)})}), b.lit(2.0)));
  EXPECT_EQ(b.run(b.compute({i}, select(b.n, both, sum, b.lit(0.5)))), (Values{0.5, 0.5, 30}));
}

// The index is 2 at most: of three elements all are there, of two the last one is not.
TEST(LoweringUnit, OnlyReadsThatMayLeaveTheirTensorAreGuardedByData) {
  for (const int64_t elements : {2, 3}) {
    NotationBuilder b;
    const std::vector<double> held{10, 20, 30};
    const TensorId A = b.input(f64({elements}, {held.begin(), held.begin() + elements}));
    const TensorId I = b.input(i64({3}, {0, 1, 5}));
    const AxisHandle i = add_axis(b.n, 0, 3);
    const ScalarExpr place = b.at(I, {b.v(i)});
    const ScalarExpr inside = b.op(Op::Lt, place, b.lit(int64_t{2}));
    const ScalarExpr index =
        b.op(Op::Min, b.op(Op::Max, place, b.lit(int64_t{0})), b.lit(int64_t{2}));
    const Graph g = b.finish(b.compute({i}, select(b.n, inside, b.at(A, {index}), b.lit(-1.0))));
    size_t guarded = 0;
    for (ExprId id : reachable(g.pool, g.stages[0].bodies))
      guarded += g.pool.is(id, Op::Read) && g.pool.read_predicate(id).valid() ? 1 : 0;
    EXPECT_EQ(guarded, elements == 2 ? 1u : 0u) << elements;
    EXPECT_EQ(values(interpret(g, b.arrays)[0]), (std::vector<double>{10, 20, -1}));
  }
}

}  // namespace
}  // namespace adjit::testing
