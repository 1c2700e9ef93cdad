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
