// tests/autosched/cpu/tile/body_operations_test.cpp -- operations of a tile's instances.
#include "autosched/cpu/tile/body_operations.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {
namespace {

BodyOperations operations_of(const std::string& body) {
  const Graph graph = parse_graph("def f(float(64) x, float(64, 64) w) -> (y) { y(i) +=! " + body +
                                  " where i in 0:64, r in 0:64 }");
  return {graph, graph.stages.back(), CoreCosts()};
}

TEST(BodyOperations, AProductGoesIntoItsSumForNothing) {
  const BodyOperations product = operations_of("w(i, r) * x(r)"),
                       sum = operations_of("w(i, r) + x(r)");
  EXPECT_EQ(product.operations({1, 1}), 1) << "a multiply-add";
  EXPECT_EQ(sum.operations({1, 1}), 2);
  EXPECT_EQ(product.operations({4, 2}), 8);
}

TEST(BodyOperations, WhatDependsOnOneAxisIsDoneOnceForTheOther) {
  const BodyOperations shared = operations_of("w(i, r) * exp(x(r))");
  const double exponential = shared.operations({1, 1}) - 1;
  EXPECT_GT(exponential, 5);
  EXPECT_EQ(shared.operations({4, 1}), exponential + 4);
  EXPECT_EQ(shared.operations({1, 4}), 4 * exponential + 4);
}

TEST(BodyOperations, BodiesWithIntermediateValuesTakeMoreRegisters) {
  EXPECT_EQ(operations_of("w(i, r) * x(r)").working_registers(), 1);
  EXPECT_EQ(operations_of("exp(w(i, r)) * x(r)").working_registers(), 3);
}

}  // namespace
}  // namespace adjit::sched
