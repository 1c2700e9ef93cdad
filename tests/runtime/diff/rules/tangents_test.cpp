// tests/runtime/diff/rules/tangents_test.cpp -- one sweep gives the tangent of every root.
#include "runtime/diff/rules/tangents.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/scalars.hpp"

namespace adjit::testing {
namespace {

// Tangents where input k has the tangent that input k + half holds.
std::vector<ExprId> pushed(Scalars& s, const std::vector<ExprId>& roots,
                           const std::unordered_map<uint32_t, ExprId>& value_of = {}) {
  return tangents(
      s.pool(), roots,
      [&](ExprId leaf) {
        const size_t half = s.x.size() / 2;
        for (size_t k = 0; k < half; ++k)
          if (leaf == s.x[k]) return s.x[k + half];
        return ExprId{};
      },
      value_of);
}

TEST(Tangents, OfAProductFollowBothFactors) {
  Scalars s(4);
  const ExprId y = s.pool().mul(s.x[0], s.pool().make(Op::Sin, {s.x[1]}));
  const std::vector<ExprId> found = pushed(s, {y, s.x[0]});
  EXPECT_NEAR(s.at(found[0], {2, 0.3, 10, 100}), 10 * std::sin(0.3) + 200 * std::cos(0.3), 1e-12);
  EXPECT_EQ(found[1], s.x[2]);
}

TEST(Tangents, WhatDoesNotMoveHasNone) {
  Scalars s(2);
  ExprPool& pool = s.pool();
  const ExprId whole = pool.cast(s.x[0], DType::Int64);
  const std::vector<ExprId> roots{pool.make(Op::Exp, {s.x[1]}), s.number(4), whole,
                                  pool.cast(whole, DType::Float64), pool.make(Op::Floor, {s.x[0]})};
  for (ExprId tangent : pushed(s, roots)) EXPECT_FALSE(tangent.valid());
}

TEST(Tangents, AnUnselectedBranchNeverReachesThem) {
  Scalars s(2);  // 0 < x ? sqrt(x) : x
  ExprPool& pool = s.pool();
  const ExprId positive = pool.make(Op::Lt, {s.number(0), s.x[0]});
  const ExprId y = pool.select(positive, pool.make(Op::Sqrt, {s.x[0]}), s.x[0]);
  const ExprId tangent = pushed(s, {y})[0];
  EXPECT_NEAR(s.at(tangent, {4, 8}), 2, 1e-15);
  EXPECT_EQ(s.at(tangent, {0, 8}), 8) << "not infinity times 0";
}

TEST(Tangents, OfHalfTypesAreOfTheAccumulator) {
  ExprPool pool;
  const ExprId x = pool.argument(0, DType::Float16), t = pool.argument(1, DType::Float32);
  const ExprId wide = pool.cast(x, DType::Float32);
  const ExprId roots[] = {pool.cast(pool.mul(wide, wide), DType::Float16),
                          pool.cast(x, DType::Float64)};
  const std::vector<ExprId> found =
      tangents(pool, roots, [&](ExprId leaf) { return leaf == x ? t : ExprId{}; });
  EXPECT_EQ(pool.dtype(found[0]), DType::Float32);
  EXPECT_EQ(pool.dtype(found[1]), DType::Float64);
}

TEST(Tangents, RulesUseTheValueThatIsStored) {
  Scalars s(4);  // exp(x0); its value is x1
  const ExprId y = s.pool().make(Op::Exp, {s.x[0]});
  const ExprId tangent = pushed(s, {y}, {{y.value, s.x[1]}})[0];
  EXPECT_EQ(s.at(tangent, {0.5, 7, 3, 0}), 21);
}

TEST(Tangents, TenThousandFactorsAreLinear) {
  Scalars s(2);
  ExprId power = s.x[0];
  for (int k = 1; k < 10'000; ++k) power = s.pool().mul(power, s.x[0]);
  const size_t before = s.pool().size();
  const ExprId tangent = pushed(s, {power})[0];
  EXPECT_LE(s.pool().size() - before, 4 * 10'000u);
  EXPECT_EQ(s.at(tangent, {1, 1}), 10'000);
}

}  // namespace
}  // namespace adjit::testing
