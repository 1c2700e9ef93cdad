// tests/runtime/diff/conditions/guards_test.cpp -- conditions as rows, many of them over one
// domain.
#include "runtime/diff/conditions/guards.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// The conditions of a chain of n selects, i < 1, i < 2, ...: part k is reached where the first k
// fail and the next holds.
std::vector<ExprId> chain(ExprPool& pool, Conditions& conditions, int64_t n) {
  std::vector<ExprId> parts;
  ConditionId before;
  for (int64_t k = 1; k <= n; ++k) {
    const ExprId literal = pool.make(Op::Lt, {pool.axis(0), pool.constant_int(k)});
    parts.push_back(conditions.expr(conditions.refine(before, literal)));
    before = conditions.refine(before, negation(pool, literal));
  }
  return parts;
}

TEST(Restrictions, AChainIsWalkedOnce) {
  for (const int64_t n : {50, 100, 200, 400}) {
    ExprPool pool;
    Conditions conditions(pool);
    const std::vector<ExprId> parts = chain(pool, conditions, n);
    Restrictions restrictions(pool, shape_box({n, 3}));
    int64_t points = 0;
    for (ExprId part : parts) {
      const RestrictedDomain& found = restrictions(part);
      EXPECT_FALSE(found.rest.valid());
      EXPECT_FALSE(found.empty);
      EXPECT_LE(found.domain.inequalities.size(), 2)
          << "parallel rows but the tightest are dropped";
      points += *count_points(found.domain);
    }
    EXPECT_EQ(points, 3 * n) << "the parts are disjoint and complete";
    EXPECT_LE(restrictions.restricted(), static_cast<size_t>(2 * n));
  }
}

TEST(Restrictions, ComparisonsThatRowsCannotHoldStayConditions) {
  constexpr int64_t kMost = INT64_MAX;
  ExprPool pool;
  const ExprId i = pool.axis(0);
  const auto number = [&](int64_t value) { return pool.constant_int(value); };
  const ExprId wraps = pool.make(Op::Add, {i, number(kMost)});
  for (ExprId condition : {
           pool.make(Op::Lt, {wraps, number(5)}),  // true from i = 1 on
           pool.make(Op::Le, {number(-kMost), pool.make(Op::Add, {i, number(1)})}),
           pool.make(Op::Eq, {pool.make(Op::Add, {i, number(-kMost)}), number(5)}),
       }) {
    Domain domain = shape_box({9});
    const Restriction found = restrict_by(pool, condition, domain);
    EXPECT_EQ(found.rest, condition);
    EXPECT_TRUE(domain.is_box());
    EXPECT_FALSE(found.empty);
  }
  Domain domain = shape_box({9});
  const ExprId fits = pool.make(Op::Lt, {i, number(kMost)});
  EXPECT_FALSE(restrict_by(pool, fits, domain).rest.valid());
}

TEST(Restrictions, SayWhatOneRestrictionSays) {
  ExprPool pool;
  const Domain box = shape_box({9, 9});
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId row = pool.make(Op::Le, {i, j}),
               other = pool.make(Op::Lt, {pool.constant_int(2), j});
  const ExprId data = pool.read(TensorId{0}, DType::Bool, std::vector{i, j});
  const ExprId never = pool.make(Op::Lt, {pool.constant_int(3), pool.constant_int(3)});
  Restrictions restrictions(pool, box);
  for (ExprId condition :
       {row, diff::both(pool, row, other), diff::both(pool, diff::both(pool, row, data), other),
        diff::both(pool, row, diff::both(pool, data, other)), diff::both(pool, data, data),
        diff::both(pool, row, never)}) {
    Domain domain = box;
    const Restriction once = restrict_by(pool, condition, domain);
    const RestrictedDomain& found = restrictions(condition);
    EXPECT_EQ(found.domain, domain);
    EXPECT_EQ(found.rest, once.rest);
    EXPECT_EQ(found.empty, once.empty);
  }
  EXPECT_EQ(restrictions(ExprId{}).domain, box);
}

TEST(Restrictions, AreConditionsAgain) {
  ExprPool pool;
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId data = pool.read(TensorId{0}, DType::Bool, std::vector{i, j});
  Restrictions restrictions(pool, shape_box({9, 9}));
  const ExprId row = pool.make(Op::Le, {i, j});
  for (ExprId condition : {row, diff::both(pool, row, data)}) {
    const RestrictedDomain& found = restrictions(condition);
    EXPECT_FALSE(found.everywhere());
    const RestrictedDomain& again = restrictions(condition_of(pool, found));
    EXPECT_EQ(again.domain, found.domain);
    EXPECT_EQ(again.rest, found.rest);
  }
  EXPECT_TRUE(restrictions(ExprId{}).everywhere());
  EXPECT_FALSE(condition_of(pool, restrictions(ExprId{})).valid());
  EXPECT_TRUE(pool.is_false(condition_of(pool, restrictions(pool.constant_int(0, DType::Bool)))));
}

// (i | t) with d0 = floor((i + 1) / 2): rows of i alone, with their division, become rows over i.
TEST(Restrictions, RowsOfTheFirstAxesAreAdded) {
  Domain whole;
  whole.extents = {9, 4};
  whole.output_rank = 1;
  whole.divisions = {{Affine::variable(1, 1, 2), 3}, {Affine::variable(0, 1, 1), 2}};
  const Affine even = Affine::variable(0, 1, 1) - Affine::variable(3, 2);
  whole.equalities = {even};
  whole.inequalities = {Affine::variable(0, 1, -3), Affine::variable(0) - Affine::variable(1),
                        Affine::variable(0) - Affine::variable(2), Affine::variable(0)};
  Domain first = shape_box({9});
  EXPECT_TRUE(add_rows(first, whole));
  EXPECT_EQ(first.divisions, (std::vector<Division>{{Affine::variable(0, 1, 1), 2}}));
  EXPECT_EQ(first.equalities,
            (std::vector<Affine>{Affine::variable(0, 1, 1) - Affine::variable(1, 2)}));
  EXPECT_EQ(first.inequalities, (std::vector<Affine>{Affine::variable(0, 1, -3)}))
      << "that of the box is dropped";
  whole.inequalities = {Affine(-1)};
  EXPECT_FALSE(add_rows(first, whole));
}

// The gradient by n joined parts has as many stages as parts, each with the part's own points.
TEST(Restrictions, JoinedPartsGetTheirOwnPoints) {
  constexpr int kParts = 40;
  std::string inputs,
      value = "x" + std::to_string(kParts - 1) + "(i - " + std::to_string(2 * (kParts - 1)) + ")";
  for (int k = 0; k < kParts; ++k) inputs += (k ? ", " : "") + ("double(2) x" + std::to_string(k));
  for (int k = kParts - 1; k-- > 0;)
    value = "i < " + std::to_string(2 * k + 2) + " ? x" + std::to_string(k) + "(i - " +
            std::to_string(2 * k) + ") : (" + value + ")";
  const Graph f = parse_graph("def f(" + inputs + ") -> (y) { y(i) = " + value +
                              " where i in 0:" + std::to_string(2 * kParts) + " }");
  ReverseOptions options;
  for (size_t k = 0; k < kParts; ++k) options.wrt.push_back(k);
  options.outputs = {0};
  EXPECT_EQ(points(vjp(f, options)), 2 * kParts);
  EXPECT_TRUE(check_gradients(f, 1));
}

}  // namespace
}  // namespace adjit::testing
