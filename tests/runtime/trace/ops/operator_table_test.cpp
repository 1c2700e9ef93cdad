// tests/runtime/trace/ops/operator_table_test.cpp -- operators by name.
#include "runtime/trace/ops/operator_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/trace/messages.hpp"

namespace adjit::testing {
namespace {

TEST(OperatorTable, UnknownNamesGetTheNearest) {
  expect_words(message_of(ErrorCode::Invalid, [] { find_operator("matmull"); }), {"matmul"});
  expect_words(message_of(ErrorCode::Invalid, [] { find_operator("conv2d"); }), {"nn.conv2d"});
}

TEST(OperatorTable, HoldsEveryNameOnceInOrder) {
  const std::span<const Operator> all = all_operators();
  EXPECT_GT(all.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Operator::name));
  EXPECT_EQ(std::ranges::adjacent_find(all, {}, &Operator::name), all.end());
  for (const Operator& op : all) EXPECT_EQ(&find_operator(op.name), &op);
}

}  // namespace
}  // namespace adjit::testing
