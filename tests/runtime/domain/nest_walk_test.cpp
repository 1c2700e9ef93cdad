// tests/runtime/domain/nest_walk_test.cpp -- counting points and idle iterations.
#include "runtime/domain/nest_walk.hpp"

#include <gtest/gtest.h>

#include "patterns.hpp"

namespace adjit::domain {
namespace {

TEST(NestWalk, CountsTheInnermostLoopInClosedForm) {
  IndexMap m({1000}, {1000});
  m.at_least_zero(m[0] - m[1]);
  const LoopNestBounds nest = loop_bounds(m.source, std::vector<size_t>{0, 1});
  int64_t budget = 3000;
  const NestCount count = walk_nest(m.source, nest, {}, budget);
  EXPECT_TRUE(count.complete);
  EXPECT_EQ(count.points, 500'500);
  EXPECT_EQ(count.idle, 0);
  EXPECT_EQ(budget, 1000);  // 1,000 outer iterations and 1,000 closed forms
}

TEST(NestWalk, StopsAtItsBudget) {
  IndexMap m({1000}, {1000});
  m.at_least_zero(m[0] - m[1]);
  const LoopNestBounds nest = loop_bounds(m.source, std::vector<size_t>{0, 1});
  int64_t budget = 10;
  EXPECT_FALSE(walk_nest(m.source, nest, {}, budget).complete);
}

TEST(NestWalk, CountsIterationsThatAGuardRejects) {
  IndexMap m({}, {12});
  m.zero(m.mod(m[0], 4) - 1);
  const LoopNestBounds nest = loop_bounds(m.source, std::vector<size_t>{0});
  int64_t budget = 100;
  const NestCount count = walk_nest(m.source, nest, {}, budget);
  EXPECT_EQ(count.points, 3);
  EXPECT_EQ(count.idle, 9);
}

}  // namespace
}  // namespace adjit::domain
