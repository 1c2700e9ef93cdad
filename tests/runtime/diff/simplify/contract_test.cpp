// tests/runtime/diff/simplify/contract_test.cpp -- what becomes a fused multiply-add, and what does
// not.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

TEST(Contract, IsTheSameForEqualNodesOfDifferentStages) {
  Forward f;
  const TensorId a = f.input("a", {4}), b = f.input("b", {4});
  const TensorId y =
      f.map("y", {4}, [&](const Axes& i) { return f.at(a, i) * f.at(b, i) + f.at(a, i); });
  const TensorId z = f.map("z", {4}, [&](const Axes& i) {
    const Ex p = f.at(a, i) * f.at(b, i);
    return (p + f.at(a, i)) * p + p;
  });
  const Graph s = contract(f.returning({y, z}));
  EXPECT_TRUE(s.pool.is(s.stages[0].bodies[0], Op::Fma));
  EXPECT_TRUE(s.pool.is(s.stages[1].bodies[0], Op::Fma));
  EXPECT_EQ(s.pool.operand(s.stages[1].bodies[0], 0), s.stages[0].bodies[0])
      << "shared with the other stage";
  EXPECT_EQ(print(contract(s)), print(s));
}

// What is subtracted may come from the same product, rounded.
TEST(Contract, LeavesDifferencesOfRoundedValuesAlone) {
  const auto is_fused = [](const std::function<Ex(Ex, Ex, Ex)>& make) {
    Forward f;
    const TensorId a = f.input("a", {4}), b = f.input("b", {4}), m = f.input("m", {});
    const TensorId y =
        f.map("y", {4}, [&](const Axes& i) { return make(f.at(a, i), f.at(b, i), f.at(m, {})); });
    const Graph s = contract(f.returning({y}));
    return s.pool.is(s.stages[0].bodies[0], Op::Fma);
  };
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return x * 0.7 - m; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return m - x * 0.7; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex, Ex m) { return x * 0.7 + -m; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex y, Ex) { return x * x - y * y; }));
  EXPECT_FALSE(is_fused([](Ex x, Ex y, Ex) { return x * -y + y * x; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex) { return x * y - 0.5; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex m) { return x * y + m; }));
  EXPECT_TRUE(is_fused([](Ex x, Ex y, Ex) { return x * x + y * y; }));
}

TEST(Contract, LeavesProductsOfSumsAlone) {
  const Graph g = forward_named("matmul");
  EXPECT_EQ(print(contract(g)), print(g));
  const Graph c = forward_named("conv1d_stride3_dilation2");
  EXPECT_EQ(print(contract(c)), print(c));
}

TEST(Contract, LeavesIntegersAndHalfTypesAlone) {
  const Graph g = parse_graph(
      "def f(int64(4) n, half(4) h) -> (y, z) {\n y(i) = n(i) * n(i) + 1\n"
      " z(i) = half(float(h(i)) * 2.0) \n}");
  EXPECT_EQ(print(contract(g)), print(g));
}

TEST(Contract, ReachesTargetsCombinersAndSteps) {
  const Graph g = parse_graph(
      "def f(double(3) h0, double(3) a) -> (last) {\n"
      " scan (last) = step[2](carry double(3) c = h0, fixed double(3) b = a) -> (n) {\n"
      "  n(i) = c(i) * b(i) + 1.0\n }\n}");
  const Graph s = contract(g);
  const Graph& step = *s.stages[0].scan->body;
  EXPECT_TRUE(step.pool.is(step.stages[0].bodies[0], Op::Fma)) << print(s);
}

}  // namespace
}  // namespace adjit::testing
