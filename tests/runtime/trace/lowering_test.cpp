// tests/runtime/trace/lowering_test.cpp -- reductions inside expressions become stages of their
// own.
#include "runtime/trace/lowering.hpp"

#include <gtest/gtest.h>

#include "runtime/trace/index_reduction.hpp"
#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/notation_builder.hpp"

namespace adjit::testing {
namespace {

TEST(Lowering, ReductionsInsideExpressionsAreLifted) {
  // softmax: exp(A[i, j]) / sum_k exp(A[i, k]); the sum depends on i alone.
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 2}, {0, 0, 1, 1}));
  const AxisHandle i = add_axis(b.n, 0, 2), j = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 2);
  const ScalarExpr total = b.sum(b.op(Op::Exp, b.at(A, {b.v(i), b.v(k)})), {k});
  const Graph graph =
      b.finish(b.compute({i, j}, b.op(Op::Div, b.op(Op::Exp, b.at(A, {b.v(i), b.v(j)})), total)));
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.info(graph.stages[0].results[0]).shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(values(interpret(graph, b.arrays)[0]), (Values{0.5, 0.5, 0.5, 0.5}));
}

TEST(Lowering, NestedReductionsOverTheSameAxis) {
  // sum_k (A[k] * sum_k A[k]) = (1+2+3)^2: the inner k hides the outer one.
  NotationBuilder b;
  const TensorId A = b.input(f64({3}, {1, 2, 3}));
  const AxisHandle k = add_axis(b.n, 0, 3);
  const ScalarExpr read = b.at(A, {b.v(k)});
  const ScalarExpr inner = b.sum(read, {k});
  EXPECT_EQ(b.run(b.compute({}, b.sum(b.op(Op::Mul, read, inner), {k}))), (Values{36}));
}

TEST(Lowering, AReducedAxisHidesTheOutputAxis) {
  NotationBuilder b;
  const TensorId A = b.input(f64({3}, {1, 2, 3}));
  const AxisHandle i = add_axis(b.n, 0, 3);
  EXPECT_EQ(b.run(b.compute({i}, b.sum(b.at(A, {b.v(i)}), {i}))), (Values{6, 6, 6}));
}

TEST(Lowering, AConditionSharedWithOtherAxesWidensOnlyWhereNeeded) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 2}, {1, 2, 3, 4}));
  const AxisHandle i = add_axis(b.n, 0, 3), j = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 2);
  const ScalarExpr below =
      b.op(Op::Lt, b.op(Op::Add, b.v(i), b.v(j)), b.lit(int64_t{2}));  // keeps i < 2
  const ScalarExpr total = b.sum(b.at(A, {b.v(i), b.v(k)}), {k});
  EXPECT_EQ(b.run(b.compute({i, j}, select(b.n, below, total, b.lit(-1.0)))),
            (Values{3, 3, 7, -1, -1, -1}));
}

TEST(Lowering, ALiftedReductionCarriesItsPathCondition) {
  // select(i >= 1, sum_k A[i - 1, k], 0): the lifted stage runs over i, restricted to i >= 1.
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 2}, {1, 2, 3, 4}));
  const AxisHandle i = add_axis(b.n, 0, 3), k = add_axis(b.n, 0, 2);
  const ScalarExpr above = b.op(Op::Le, b.lit(int64_t{1}), b.v(i));
  const ScalarExpr total = b.sum(b.at(A, {b.op(Op::Sub, b.v(i), b.lit(int64_t{1})), b.v(k)}), {k});
  const Graph graph =
      b.finish(b.compute({i}, b.op(Op::Add, select(b.n, above, total, b.lit(0.0)), b.lit(1.0))));
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.stages[0].domain.inequalities.size(), 1u);
  EXPECT_EQ(values(interpret(graph, b.arrays)[0]), (Values{1, 4, 8}));
}

TEST(Lowering, SeveralResultsWithoutReductionsAreOneStage) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2}, {1, 4}));
  const AxisHandle i = add_axis(b.n, 0, 2);
  const AxisHandle axes[] = {i};
  const ScalarExpr bodies[] = {b.op(Op::Neg, b.at(A, {b.v(i)})), b.op(Op::Sqrt, b.at(A, {b.v(i)}))};
  const std::vector<TensorId> results = compute(b.n, "T", axes, bodies);
  const Graph graph = b.trace.finish(results);
  EXPECT_EQ(graph.stages.size(), 1u);
  EXPECT_EQ(values(interpret(graph, b.arrays)[1]), (Values{1, 2}));
}

TEST(Lowering, UnboundAxesRaise) {
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, 2, 3, 4}));
  const AxisHandle i = add_axis(b.n, 0, 4), k = add_axis(b.n, 0, 4, "k");
  EXPECT_NE(message_of(ErrorCode::Invalid, [&] { b.compute({i}, b.at(A, {b.v(k)})); })
                .find("the axis 'k' (over 0:4)"),
            std::string::npos);
  const AxisHandle nameless = add_axis(b.n, 1, 3);
  EXPECT_NE(message_of(ErrorCode::Invalid, [&] { b.compute({i}, b.at(A, {b.v(nameless)})); })
                .find("the axis over 1:3 is neither"),
            std::string::npos);
}

TEST(Lowering, AHistogramIsAScatter) {
  // A histogram: H[I[r]] += 1.
  NotationBuilder b;
  const TensorId I = b.input(i64({5}, {0, 2, 2, 1, 2}));
  const AxisHandle r = add_axis(b.n, 0, 5);
  const AxisHandle axes[] = {r};
  const ScalarExpr target[] = {b.at(I, {b.v(r)})};
  const TensorId h =
      scatter(b.n, "H", {4}, axes, target, constant(b.n, 1, DType::Float64), CombinerKind::Sum);
  EXPECT_EQ(b.run(h), (Values{1, 1, 3, 0}));
}

}  // namespace
}  // namespace adjit::testing
