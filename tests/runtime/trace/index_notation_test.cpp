// tests/runtime/trace/index_notation_test.cpp -- leaves, operations and their types.
#include "runtime/trace/index_notation.hpp"

#include <gtest/gtest.h>

#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/notation_builder.hpp"

namespace adjit::testing {
namespace {

template <typename Action>
std::string message_at_line(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find("user.py:5"), std::string::npos) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(IndexNotation, MatmulIsOneStage) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 3}, {1, 2, 3, 4, 5, 6})),
                 B = b.input(f64({3, 2}, {1, 0, 0, 1, 1, 1}));
  const AxisHandle i = add_axis(b.n, 0, 2), j = add_axis(b.n, 0, 2), k = add_axis(b.n, 0, 3);
  const ScalarExpr product = b.op(Op::Mul, b.at(A, {b.v(i), b.v(k)}), b.at(B, {b.v(k), b.v(j)}));
  const Graph graph = b.finish(b.compute({i, j}, b.sum(product, {k})));
  ASSERT_EQ(graph.stages.size(), 1u);
  EXPECT_EQ(graph.stages[0].domain.extents, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(graph.stages[0].combiner.kind, CombinerKind::Sum);
  EXPECT_EQ(graph.stages[0].lines.at(0).line, 5);
  EXPECT_EQ(values(interpret(graph, b.arrays)[0]), (Values{4, 5, 10, 11}));
}

TEST(IndexNotation, AxesMayStartAnywhere) {
  NotationBuilder b;
  const TensorId A = b.input(f64({5}, {1, 2, 4, 8, 16}));
  const AxisHandle i = add_axis(b.n, 1, 4), k = add_axis(b.n, -1, 2);
  const ScalarExpr body = b.at(A, {b.op(Op::Add, b.v(i), b.v(k))});
  EXPECT_EQ(b.run(b.compute({i}, b.sum(body, {k}))), (Values{7, 14, 28}));
}

TEST(IndexNotation, LiteralsAreWeak) {
  NotationBuilder b;
  const TensorId A = b.input(f32({2}, {1, 2})), I = b.input(i64({2}, {5, 7}));
  const AxisHandle i = add_axis(b.n, 0, 2);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, b.at(A, {b.v(i)}), b.lit(int64_t{2}))), DType::Float32);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, b.at(I, {b.v(i)}), b.lit(int64_t{2}))), DType::Int64);
  const ScalarExpr halved = b.op(Op::Mul, b.at(I, {b.v(i)}), b.lit(0.5));
  EXPECT_EQ(dtype_of(b.n, halved), DType::Float32) << "as it is stored";
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, b.at(A, {b.v(i)}), halved)), DType::Float32);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, b.at(A, {b.v(i)}), b.at(I, {b.v(i)}))), DType::Float32);
  // Literals alone fold, and stay weak.
  const ScalarExpr half = b.op(Op::Div, b.lit(int64_t{1}), b.lit(int64_t{2}));
  EXPECT_EQ(b.run(b.compute({i}, b.op(Op::Add, b.at(A, {b.v(i)}), half))), (Values{1.5, 2.5}));
}

TEST(IndexNotation, AxesTakeTheFloatBesideThem) {
  NotationBuilder b;
  const TensorId A = b.input(f32({3}, {1, 2, 4})), D = b.input(f64({3}, {1, 2, 4}));
  const TensorId S = b.input(array(DType::Int8, {3}, {100, 1, 2}));
  const AxisHandle i = add_axis(b.n, 0, 3);
  const ScalarExpr half = b.op(Op::Mul, b.v(i), b.lit(0.5));
  EXPECT_EQ(dtype_of(b.n, b.v(i)), DType::Int64);
  EXPECT_EQ(dtype_of(b.n, half), DType::Float32);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Add, b.v(i), b.at(A, {b.v(i)}))), DType::Float32);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Add, half, b.at(D, {b.v(i)}))), DType::Float64);
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Exp, b.v(i))), DType::Float32);
  // Beside integers it stays wide: 100 + 100 is no int8.
  const ScalarExpr wide =
      b.op(Op::Add, b.op(Op::Mul, b.v(i), b.lit(int64_t{100})), b.at(S, {b.v(i)}));
  EXPECT_EQ(dtype_of(b.n, wide), DType::Int64);
  const TensorId results[] = {b.compute({i}, b.op(Op::Add, half, b.at(D, {b.v(i)}))),
                              b.compute({i}, wide),
                              b.compute({i}, b.op(Op::Div, b.v(i), b.lit(int64_t{2})))};
  const std::vector<Array> out = interpret(b.trace.finish(results), b.arrays);
  EXPECT_EQ(values(out[0]), (Values{1, 2.5, 5}));
  EXPECT_EQ(values(out[1]), (Values{100, 101, 202}));
  EXPECT_EQ(values(out[2]), (Values{0, 0.5, 1}));
}

TEST(IndexNotation, IntegersAndBoolsMeetFloats) {
  NotationBuilder b;
  const TensorId S = b.input(array(DType::Int32, {3}, {1, 2, 3}));
  const TensorId D = b.input(f64({3}, {0.5, 1, 2}));
  const AxisHandle i = add_axis(b.n, 0, 3);
  const ScalarExpr s = b.at(S, {b.v(i)}), half = b.op(Op::Mul, b.v(i), b.lit(0.5));
  message_at_line(ErrorCode::DType, [&] { b.at(S, {half}); });
  message_at_line(ErrorCode::DType, [&] { b.op(Op::Exp, s); });
  // A condition counts as 0 or 1 beside numbers.
  const ScalarExpr early = b.op(Op::Lt, b.v(i), b.lit(int64_t{2}));
  EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, early, s)), DType::Int32);
  const ScalarExpr kept = b.op(Op::Mul, early, b.at(D, {b.v(i)}));
  EXPECT_EQ(b.run(b.compute({i}, b.op(Op::Add, kept, b.op(Op::Add, s, half)))),
            (Values{1.5, 3.5, 4}));
}

TEST(IndexNotation, WhatIsWeakOnlyStaysWeak) {
  NotationBuilder b;
  const TensorId D = b.input(f64({3}, {0.5, 1, 2})), A = b.input(f32({3}, {0.5, 1, 2}));
  const AxisHandle i = add_axis(b.n, 0, 3), k = add_axis(b.n, 0, 3);
  const ScalarExpr early = b.op(Op::Lt, b.v(i), b.lit(int64_t{2}));
  const ScalarExpr chosen = select(b.n, early, b.lit(0.1), b.lit(0.0));
  const ScalarExpr total = b.sum(b.op(Op::Mul, b.v(k), b.lit(0.1)), {k});
  for (const ScalarExpr weak : {chosen, total}) {
    EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, weak, b.at(D, {b.v(i)}))), DType::Float64);
    EXPECT_EQ(dtype_of(b.n, b.op(Op::Mul, weak, b.at(A, {b.v(i)}))), DType::Float32);
    EXPECT_EQ(dtype_of(b.n, weak), DType::Float32) << "as it is stored";
  }
  // 0.1 is no float32 on its way to float64.
  const ScalarExpr product = b.op(Op::Mul, chosen, b.at(D, {b.v(i)}));
  EXPECT_EQ(b.run(b.compute({i}, product)), (Values{0.1 * 0.5, 0.1, 0}));
}

TEST(IndexNotation, ConstantIndicesWrapOrRaise) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2, 3}, {1, 2, 3, 4, 5, 6}));
  const AxisHandle i = add_axis(b.n, 0, 2);
  const std::string message = message_at_line(
      ErrorCode::Bounds, [&] { b.compute({i}, b.at(A, {b.v(i), b.lit(int64_t{3})})); });
  for (const char* word : {"index 3", "dimension 1", "extent 3"})
    EXPECT_NE(message.find(word), std::string::npos) << message;
  message_at_line(ErrorCode::Bounds,
                  [&] { b.compute({i}, b.at(A, {b.v(i), b.lit(int64_t{-4})})); });
  message_at_line(ErrorCode::Shape, [&] { b.at(A, {b.v(i)}); });
  message_at_line(ErrorCode::DType, [&] { b.at(A, {b.v(i), b.lit(0.5)}); });
  EXPECT_EQ(b.run(b.compute({i}, b.at(A, {b.v(i), b.lit(int64_t{-1})}))), (Values{3, 6}));
}

TEST(IndexNotation, ConstantIndicesOutOfRangeMayBeGuarded) {
  NotationBuilder b;
  const TensorId A = b.input(f64({2}, {1, 2}));
  const AxisHandle i = add_axis(b.n, 0, 2);
  const ScalarExpr never = b.op(Op::Lt, b.v(i), b.lit(int64_t{0}));
  const ScalarExpr guarded = select(b.n, never, b.at(A, {b.lit(int64_t{5})}), b.lit(7.0));
  EXPECT_EQ(b.run(b.compute({i}, guarded)), (Values{7, 7}));
}

TEST(IndexNotation, ReadsThatCanLeaveTheirTensorRaise) {
  NotationBuilder b;
  const TensorId A = b.input(f64({4}, {1, 2, 3, 4}));
  const AxisHandle i = add_axis(b.n, 0, 4);
  const ScalarExpr left = b.at(A, {b.op(Op::Sub, b.v(i), b.lit(int64_t{1}))});
  message_at_line(ErrorCode::Bounds, [&] { b.compute({i}, left); });
  const ScalarExpr guard = b.op(Op::Lt, b.lit(int64_t{0}), b.v(i));
  EXPECT_EQ(b.run(b.compute({i}, select(b.n, guard, left, b.lit(int64_t{-1})))),
            (Values{-1, 1, 2, 3}));
}

TEST(IndexNotation, IndexModes) {
  NotationBuilder b;
  const TensorId A = b.input(f64({3}, {1, 2, 3})), I = b.input(i64({3}, {-1, 1, 7}));
  const AxisHandle i = add_axis(b.n, 0, 3);
  const ScalarExpr at = b.at(I, {b.v(i)});
  const TensorId results[] = {b.compute({i}, b.at(A, {at}, IndexMode::Clip)),
                              b.compute({i}, b.at(A, {at}, IndexMode::Wrap)),
                              b.compute({i}, b.at(A, {at}, IndexMode::Drop))};
  const std::vector<Array> out = interpret(b.trace.finish(results), b.arrays);
  EXPECT_EQ(values(out[0]), (Values{1, 2, 3}));
  EXPECT_EQ(values(out[1]), (Values{3, 2, 2}));
  EXPECT_EQ(values(out[2]), (Values{0, 2, 0}));
}

}  // namespace
}  // namespace adjit::testing
