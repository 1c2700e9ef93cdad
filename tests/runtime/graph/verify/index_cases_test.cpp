#include "runtime/graph/verify/index_cases.hpp"

#include <gtest/gtest.h>

namespace adjit::graph {
namespace {

class IndexCasesTest : public ::testing::Test {
 protected:
  IndexCasesTest() {
    domain.extents = {10, 4};
    domain.output_rank = 2;
  }
  IndexCases cases() const { return IndexCases(pool, domain); }
  ExprPool pool;
  Domain domain;
  const ExprId i = pool.axis(0), j = pool.axis(1);
  ExprId n(int64_t v) { return pool.constant_int(v); }
};

TEST_F(IndexCasesTest, AffineFormsAndTheirRanges) {
  IndexCases c = cases();
  const auto& found = c.cases(pool.sub(pool.mul(i, n(2)), pool.add(j, n(1))));
  ASSERT_EQ(found.size(), 1u);
  const OpenInterval range = range_of(c.variables(), found[0].value);
  EXPECT_EQ(range.low, -4);
  EXPECT_EQ(range.high, 17);
}

TEST_F(IndexCasesTest, DivisionsBecomeVariables) {
  IndexCases c = cases();
  const Affine value = c.cases(pool.make(Op::FloorDiv, {i, n(4)}))[0].value;
  const OpenInterval quotient = range_of(c.variables(), value);
  EXPECT_EQ(quotient.low, 0);
  EXPECT_EQ(quotient.high, 2);
}

TEST_F(IndexCasesTest, MinMaxAbsAndSelectSplit) {
  IndexCases c = cases();
  EXPECT_EQ(c.cases(pool.make(Op::Min, {i, n(3)})).size(), 2u);
  EXPECT_EQ(c.cases(pool.make(Op::Abs, {pool.sub(i, n(3))})).size(), 2u);
  const ExprId condition = pool.make(Op::Lt, {i, j});
  EXPECT_EQ(c.cases(pool.select(condition, i, j)).size(), 2u);
}

TEST_F(IndexCasesTest, ElementsHaveTheRangeOfTheirDType) {
  const ExprId byte =
      pool.cast(pool.read(TensorId{0}, DType::UInt8, std::span(&i, 1)), DType::Int64);
  IndexCases c = cases();
  const Affine value = c.cases(byte)[0].value;
  const OpenInterval range = range_of(c.variables(), value);
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 255);
}

TEST_F(IndexCasesTest, ConditionsAndTheirNegations) {
  IndexCases c = cases();
  const ExprId inside =
      pool.logical_and(pool.make(Op::Le, {n(2), i}), pool.make(Op::Lt, {i, n(8)}));
  EXPECT_EQ(c.conditions(inside, true).size(), 1u);
  EXPECT_EQ(c.conditions(inside, true)[0].inequalities.size(), 2u);
  EXPECT_EQ(c.conditions(inside, false).size(), 2u);
  EXPECT_EQ(c.conditions(pool.make(Op::Not, {inside}), true).size(), 2u);
  EXPECT_EQ(c.conditions(pool.make(Op::Eq, {i, j}), true)[0].equalities.size(), 1u);
  EXPECT_EQ(c.conditions(pool.make(Op::Ne, {i, j}), true).size(), 2u);
}

TEST_F(IndexCasesTest, WhatIsNotAffineSaysNothing) {
  const ExprId data = pool.read(TensorId{0}, DType::Float32, std::span(&i, 1));
  const ExprId positive = pool.make(Op::Lt, {pool.constant(0, DType::Float32), data});
  IndexCases c = cases();
  ASSERT_EQ(c.conditions(positive, true).size(), 1u);
  EXPECT_TRUE(c.conditions(positive, true)[0].inequalities.empty());
}

}  // namespace
}  // namespace adjit::graph
