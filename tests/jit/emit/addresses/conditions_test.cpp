// tests/jit/emit/addresses/conditions_test.cpp -- the conditions of a load as one.
#include "jit/emit/addresses/conditions.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::conjunction;
using emit::Emitted;

struct Conditions : ::testing::Test {
  BodyBench b{
      vectorize(plain(parse_graph("def f(float(5, 16) x) -> (y) { y(i, j) = x(i, j) }")), 0, 1, 8)};
  Emitted number{b.unknown(b.builder.getInt1Ty()), 0};
  Emitted lanes{b.unknown_lanes(b.builder.getInt1Ty()), 0};

  Emitted first_lanes(unsigned live) {
    llvm::SmallVector<llvm::Constant*, 8> mask;
    for (unsigned lane = 0; lane < 8; ++lane) mask.push_back(b.builder.getInt1(lane < live));
    return {llvm::ConstantVector::get(mask), 0};
  }
};

TEST_F(Conditions, ThatHoldEverywhereAreNone) {
  EXPECT_FALSE(conjunction(b.context, {}, true).value);
  EXPECT_FALSE(conjunction(b.context, {{b.builder.getTrue(), 0}, first_lanes(8)}, true).value);
  EXPECT_FALSE(conjunction(b.context, {{b.builder.getTrue(), 0}, first_lanes(8)}, false).value);
}

TEST_F(Conditions, InLanesAreAMask) {
  llvm::Type* mask = llvm::FixedVectorType::get(b.builder.getInt1Ty(), 8);
  EXPECT_EQ(conjunction(b.context, {number}, true).value->getType(), mask);
  EXPECT_EQ(conjunction(b.context, {number, lanes}, true).value->getType(), mask);
  EXPECT_EQ(conjunction(b.context, {lanes}, true).value, lanes.value);
}

TEST_F(Conditions, OfANumberHoldWhereAnyLaneDoes) {
  EXPECT_EQ(conjunction(b.context, {number}, false).value, number.value);
  EXPECT_TRUE(conjunction(b.context, {lanes}, false).value->getType()->isIntegerTy(1));
  EXPECT_EQ(conjunction(b.context, {number, first_lanes(3)}, false).value, number.value);
  EXPECT_EQ(conjunction(b.context, {first_lanes(0)}, false).value, b.builder.getFalse());
}

TEST_F(Conditions, AreKnownWhereTheLastOneIs) {
  b.scopes.push_here();
  const Emitted inner{b.unknown_lanes(b.builder.getInt1Ty()), 1};
  EXPECT_EQ(conjunction(b.context, {number, inner}, true).depth, 1u);
  EXPECT_EQ(conjunction(b.context, {number, lanes}, true).depth, 0u);
  b.scopes.pop();
}

}  // namespace
}  // namespace adjit::testing
