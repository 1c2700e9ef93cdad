// tests/jit/emit/addresses/point_memo_test.cpp -- which points of a tile share a value.
#include "jit/emit/addresses/point_memo.hpp"

#include <gtest/gtest.h>

#include "jit/emit/shape/instance_number.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// C(30, 40) += A(30, 6) B(6, 40): four rows unrolled, and two vectors of 8.
TEST(PointMemo, HasOneValueForAllPointsThatAgree) {
  Program p = vectorize(plain(matmul_graph(30, 40, 6), 1), 0, 1, 8);
  p = unroll(unroll(std::move(p), 0, 0, 4), 0, 1, 2);
  BodyBench b(std::move(p));
  emit::PointMemo memo(*b.body.shape, b.scopes);
  const ExprId left = b.body.operand(0), right = b.body.operand(1);
  const uint64_t other_row = emit::with_trip(0, 0, 3), other_vector = emit::with_trip(0, 1, 1);
  const emit::Emitted number{b.unknown(b.builder.getFloatTy()), 0};
  memo.remember(left, {}, number);
  ASSERT_NE(memo.find(left, {other_vector, {}}), nullptr);
  EXPECT_EQ(memo.find(left, {other_vector, {}})->value, number.value);
  EXPECT_EQ(memo.find(left, {other_row, {}}), nullptr);

  const emit::Emitted active{b.unknown_lanes(b.builder.getInt1Ty()), 0};
  EXPECT_NE(memo.find(left, {0, active}), nullptr) << "loaded whatever lanes are active";
  memo.remember(right, {}, number);
  EXPECT_NE(memo.find(right, {other_row, {}}), nullptr);
  EXPECT_EQ(memo.find(right, {other_vector, {}}), nullptr);
  EXPECT_EQ(memo.find(right, {0, active}), nullptr);
}

}  // namespace
}  // namespace adjit::testing
