// tests/runtime/diff/indices/index_choices_test.cpp -- what chooses the value of a min, max, abs,
// ...
#include "runtime/diff/indices/index_choices.hpp"

#include <gtest/gtest.h>

#include "runtime/expr/scalar.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

// Under the sign of its form every choice has the value that the node has, ties included.
TEST(IndexChoices, TheSignTellsTheValue) {
  ExprPool pool;
  Domain domain = shape_box({7, 7});
  const ExprId i = pool.axis(0), j = pool.axis(1), three = pool.constant_int(3);
  std::vector<ExprId> nodes;
  for (Op op : {Op::Min, Op::Max, Op::Lt, Op::Le, Op::Eq, Op::Ne})
    for (auto [a, b] : {std::pair(i, j), std::pair(i, three), std::pair(three, j)})
      nodes.push_back(pool.make(op, {a, b}));
  for (Op op : {Op::Abs, Op::Sign}) nodes.push_back(pool.make(op, {pool.sub(i, j)}));
  for (ExprId node : nodes) {
    const std::optional<IndexChoice> choice = choice_of(pool, node, domain);
    ASSERT_TRUE(choice);
    for_each_point(domain, [&](const std::vector<int64_t>& point) {
      const int64_t form = evaluate(choice->form, point);
      const Sign sign = form < 0 ? Sign::Negative : form == 0 ? Sign::Zero : Sign::Positive;
      EXPECT_EQ(value_at(pool, chosen(pool, node, sign), point), value_at(pool, node, point));
      int holding = 0;  // the signs that are told apart split the points
      for (Sign told : signs_of(*choice)) {
        Domain part = domain;
        restrict_to(part, *choice, told);
        if (!part.contains(point)) continue;
        ++holding;
        EXPECT_EQ(value_at(pool, chosen(pool, node, told), point), value_at(pool, node, point));
      }
      EXPECT_EQ(holding, 1);
    });
  }
}

// The bound of a clipped index has no point where the index itself is in range.
TEST(IndexChoices, TiesAreNotTheConstants) {
  ExprPool pool;
  Domain domain = shape_box({7});
  const ExprId i = pool.axis(0), bound = pool.constant_int(4);
  for (Op op : {Op::Min, Op::Max})
    for (auto [a, b] : {std::pair(i, bound), std::pair(bound, i)}) {
      const ExprId node = pool.make(op, {a, b});
      EXPECT_EQ(chosen(pool, node, Sign::Zero), i);
    }
}

TEST(IndexChoices, OthersHaveNone) {
  ExprPool pool;
  Domain domain = shape_box({7, 7});
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId product = pool.mul(i, j);
  EXPECT_FALSE(choice_of(pool, pool.add(i, j), domain));
  EXPECT_FALSE(choice_of(pool, pool.make(Op::Min, {product, j}), domain));
  EXPECT_FALSE(choice_of(
      pool, pool.make(Op::Lt, {pool.cast(i, DType::Float64), pool.cast(j, DType::Float64)}),
      domain));
  const ExprId halved = pool.make(Op::FloorDiv, {i, pool.constant_int(2)});
  EXPECT_FALSE(choice_of(pool, pool.make(Op::Max, {halved, product}), domain));
  EXPECT_TRUE(domain.divisions.empty()) << "a node without a choice leaves no division behind";
}

TEST(IndexChoices, KnownWhereTheDomainSaysSo) {
  ExprPool pool;
  Domain domain = shape_box({7, 7});
  const ExprId node = pool.make(Op::Eq, {pool.axis(0), pool.axis(1)});
  const IndexChoice choice = *choice_of(pool, node, domain);
  EXPECT_FALSE(known_sign(domain, choice));
  for (Sign sign : signs_of(choice)) {
    Domain part = domain;
    restrict_to(part, choice, sign);
    EXPECT_EQ(known_sign(part, choice), sign);
  }
}

}  // namespace
}  // namespace adjit::testing
