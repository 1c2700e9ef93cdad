// tests/runtime/trace/index_reduction_test.cpp -- every reducer, custom ones, what they fold in.
#include "runtime/trace/index_reduction.hpp"

#include <gtest/gtest.h>

#include "runtime/trace/lowering.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/notation_builder.hpp"

namespace adjit::testing {
namespace {

TEST(IndexReduction, SumsOfNarrowIntegersDoNotWrap) {
  const auto folded = [](CombinerKind kind, bool counted) {
    NotationBuilder b;
    const TensorId S = b.input(array(DType::UInt8, {3}, {200, 100, 3}));
    const AxisHandle over[] = {add_axis(b.n, 0, 3)};
    const ScalarExpr s = b.at(S, {b.v(over[0])});
    const ScalarExpr body = counted ? b.op(Op::Lt, b.lit(int64_t{50}), s) : s;
    return b.run(b.compute({}, reduce(b.n, kind, body, over)));
  };
  EXPECT_EQ(folded(CombinerKind::Sum, false), (Values{303}));
  EXPECT_EQ(folded(CombinerKind::Sum, true), (Values{2}));
  EXPECT_EQ(folded(CombinerKind::Product, false), (Values{60000}));
}

TEST(IndexReduction, EveryReducer) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 2}, {3, 7, 7, 2}));
  const AxisHandle i = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 2);
  const AxisHandle one[] = {k}, two[] = {i, k};
  const ScalarExpr read = b.at(A, {b.v(i), b.v(k)});
  const auto rows = [&](CombinerKind kind, ScalarExpr body) {
    return b.compute({i}, reduce(b.n, kind, body, one));
  };
  const ScalarExpr big = b.op(Op::Lt, b.lit(5.0), read);
  const TensorId results[] = {rows(CombinerKind::Product, read),
                              rows(CombinerKind::Max, read),
                              rows(CombinerKind::Min, read),
                              rows(CombinerKind::ArgMax, read),
                              rows(CombinerKind::ArgMin, read),
                              rows(CombinerKind::Any, big),
                              rows(CombinerKind::All, big),
                              b.compute({}, reduce(b.n, CombinerKind::ArgMax, read, two))};
  const std::vector<Array> out = interpret(b.trace.finish(results), b.arrays);
  const Values wanted[] = {{21, 14}, {7, 7}, {3, 2}, {1, 0}, {0, 1}, {1, 1}, {0, 0}, {1}};
  for (size_t k2 = 0; k2 < out.size(); ++k2) EXPECT_EQ(values(out[k2]), wanted[k2]) << k2;
}

TEST(IndexReduction, CustomReducers) {
  // Mean and count in one pass: (s, n) pairs added.
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, 2, 3, 6}));
  const AxisHandle k = add_axis(b.n, 0, 4);
  const AxisHandle axes[] = {k};
  const ScalarExpr bodies[] = {b.at(A, {b.v(k)}), constant(b.n, 1, DType::Float64)};
  const auto arg = [&](size_t number) { return argument(b.n, number, DType::Float64); };
  const ScalarExpr combine[] = {b.op(Op::Add, arg(0), arg(2)), b.op(Op::Add, arg(1), arg(3))};
  const ScalarExpr identity[] = {b.lit(int64_t{0}), b.lit(int64_t{0})};
  const std::vector<ScalarExpr> both = reduce_custom(b.n, bodies, combine, identity, axes);
  EXPECT_EQ(b.run(b.compute({}, b.op(Op::Div, both[0], both[1]))), (Values{3}));
}

TEST(IndexReduction, HalfTypesComputeInFloat32) {
  NotationBuilder b;
  // 1 + 2048 halves of 1: a float16 accumulator would stop at 2048.
  const TensorId A = b.input(array(DType::Float16, {3000}, Values(3000, 1)));
  const AxisHandle k = add_axis(b.n, 0, 3000);
  const TensorId total = b.compute({}, b.sum(b.at(A, {b.v(k)}), {k}));
  EXPECT_EQ(dtype_of(b.trace, total), DType::Float16);
  EXPECT_EQ(b.run(total), (Values{3000}));
}

TEST(IndexReduction, ZeroExtents) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 0}, {}));
  const AxisHandle i = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 0);
  EXPECT_EQ(b.run(b.compute({i}, b.sum(b.at(A, {b.v(i), b.v(k)}), {k}))), (Values{0, 0}));
}

}  // namespace
}  // namespace adjit::testing
