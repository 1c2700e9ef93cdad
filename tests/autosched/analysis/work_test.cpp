// tests/autosched/analysis/work_test.cpp -- how much evaluating expressions costs.
#include "autosched/analysis/work.hpp"

#include <gtest/gtest.h>

#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(WorkMeter, CountsSharedExpressionsOnce) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {4});
  const ExprId e = p.make(Op::Exp, {b.at(x, {b.axis(0)})});
  const ExprId roots[] = {p.mul(e, e), p.add(e, e)};
  WorkMeter meter(p);
  const Work work = meter(roots);
  EXPECT_EQ(work.nodes, 4u);  // the read, exp, *, +
  EXPECT_EQ(work.reads, 1u);
  EXPECT_EQ(work.cost, operation_cost(Op::Exp, DType::Float32) + 2);
}

TEST(FullLanes, AreThoseOfTheWidestTypeOfTheBodiesAndResults) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const ExprId x = b.at(b.input("x", {4}), {b.axis(0)});
  b.stage("s", {4}, 1, CombinerKind::None, x);
  b.stage("d", {4}, 1, CombinerKind::None,
          p.cast(p.make(Op::Exp, {p.cast(x, DType::Float64)}), DType::Float32));
  b.stage("h", {4}, 1, CombinerKind::None, p.cast(x, DType::Float16));
  b.stage("l", {4}, 1, CombinerKind::None, p.cast(x, DType::Int64));
  const auto lanes = [&](size_t stage, int bits) {
    return full_lanes(b.graph, b.graph.stages[stage], bits);
  };
  EXPECT_EQ(lanes(0, 512), 16);
  EXPECT_EQ(lanes(1, 512), 8) << "a float64 in between";
  EXPECT_EQ(lanes(2, 256), 8) << "computed in float32";
  EXPECT_EQ(lanes(3, 128), 2);
}

TEST(WorkMeter, PowersOfQuartersAreRoots) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const ExprId x = b.at(b.input("x", {4}), {b.axis(0)});
  const auto cost = [&](double exponent) {
    return operation_cost(p, p.make(Op::Pow, {x, p.constant(exponent, DType::Float32)}));
  };
  EXPECT_EQ(cost(0.3), operation_cost(Op::Pow, DType::Float32));
  EXPECT_EQ(cost(-2.25), operation_cost(Op::Pow, DType::Float32));
  EXPECT_EQ(cost(-1), operation_cost(Op::Pow, DType::Float32)) << "no root";
  EXPECT_LT(cost(-1.75), cost(0.3));
  EXPECT_LT(cost(0.75), cost(0.3));
}

}  // namespace
}  // namespace adjit::sched
