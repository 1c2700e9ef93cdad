// tests/runtime/diff/partition/partition_test.cpp -- forward and backward apart give what the joint
// graph gives.
#include "runtime/diff/partition/partition.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

Graph joint_of(const Graph& forward) {
  ReverseOptions options{float_inputs(forward), {}};
  for (size_t k = 0; k < forward.outputs.size(); ++k)
    if (is_float(forward.info(forward.outputs[k]).dtype)) options.outputs.push_back(k);
  options.keep_outputs = true;
  return vjp(forward, options);
}

void expect_same(const Graph& joint, const Partition& p, const Graph& forward) {
  verify(p.forward);
  verify(p.backward);
  std::vector<Array> inputs = random_inputs(joint);
  for (Array& input : inputs)
    if (!is_float(input.dtype))
      for (int64_t k = 0; k < input.element_count(); ++k) input.set(k, static_cast<double>(k % 2));
  const std::vector<Array> expected = interpret(joint, inputs);
  const std::vector<Array> primal(inputs.begin(),
                                  inputs.begin() + static_cast<long>(forward.inputs.size()));
  const std::vector<Array> ahead = interpret(p.forward, primal);
  std::vector<Array> given(ahead.begin() + static_cast<long>(forward.outputs.size()), ahead.end());
  given.insert(given.end(), inputs.begin() + static_cast<long>(forward.inputs.size()),
               inputs.end());
  const std::vector<Array> back = interpret(p.backward, given);
  ASSERT_EQ(given.size(), p.backward.inputs.size());
  std::vector<Array> got(ahead.begin(), ahead.begin() + static_cast<long>(forward.outputs.size()));
  got.insert(got.end(), back.begin(), back.end());
  ASSERT_EQ(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k)
    EXPECT_EQ(got[k].bytes, expected[k].bytes) << "output " << k;
}

class Halves : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(Halves, GiveWhatTheJointGraphGives) {
  Forward f;
  const Graph forward = GetParam().build(f);
  const Graph joint = joint_of(forward);
  for (const int64_t budget : {int64_t{-1}, int64_t{0}})
    expect_same(joint, partition(joint, forward.inputs.size(), forward.outputs.size(), budget),
                forward);
}

INSTANTIATE_TEST_SUITE_P(Table, Halves, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

// h = a b; u = tanh(exp(h)); y = u c.
Graph two_layers() {
  Forward f;
  const TensorId a = f.input("a", {8, 16}), b = f.input("b", {16, 32}), c = f.input("c", {32, 4});
  const TensorId h = f.sum("h", {8, 32}, {16}, [&](const Axes& i) {
    return f.at(a, {i[0], i[2]}) * f.at(b, {i[2], i[1]});
  });
  const TensorId e = f.map("e", {8, 32}, [&](const Axes& i) { return call(Op::Exp, f.at(h, i)); });
  const TensorId u = f.map("u", {8, 32}, [&](const Axes& i) { return call(Op::Tanh, f.at(e, i)); });
  return f.returning({f.sum("y", {8, 4}, {32}, [&](const Axes& i) {
    return f.at(u, {i[0], i[2]}) * f.at(c, {i[2], i[1]});
  })});
}

TEST(Partition, RecomputesElementwiseWorkAndSavesProducts) {
  const Graph forward = two_layers(), joint = joint_of(forward);
  const Partition p = partition(joint, 3, 1, -1);
  EXPECT_EQ(p.residual_bytes, 8 * 32 * 8) << print(p.backward);  // one of h, e, u for all three
  EXPECT_LE(p.recomputed_points, 2 * 8 * 32);
  EXPECT_GT(p.recomputed_points, 0);
}

TEST(Partition, BudgetForcesProductsToBeRunAgain) {
  const Graph forward = two_layers(), joint = joint_of(forward);
  const Partition p = partition(joint, 3, 1, 0);
  EXPECT_EQ(p.residual_bytes, 0);
  EXPECT_GE(p.recomputed_points, 8 * 32 * 16);
  expect_same(joint, p, forward);
}

TEST(Partition, LinearFunctionsKeepNothingButTheirInputs) {
  const Graph forward = forward_named("matmul"), joint = joint_of(forward);
  const Partition p = partition(joint, 2, 1, -1);
  EXPECT_EQ(p.residual_bytes, 0);
  EXPECT_EQ(p.residuals, 2u);
}

}  // namespace
}  // namespace adjit::testing
