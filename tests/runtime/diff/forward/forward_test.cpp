// tests/runtime/diff/forward/forward_test.cpp -- forward mode of every forward of the table.
#include "runtime/diff/forward/forward.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"
#include "tests/runtime/diff/tangent_check.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::vector<Array> inputs_for(const Graph& forward) {
  std::vector<Array> inputs = random_inputs(forward);
  for (Array& input : inputs)
    if (input.dtype == DType::Int64)
      for (int64_t k = 0; k < input.element_count(); ++k) input.set(k, static_cast<double>(k % 2));
  return inputs;
}

class Tangents : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(Tangents, AgreeWithDifferencesAndReverse) {
  Forward f;
  const Graph forward = GetParam().build(f);
  const std::vector<Array> inputs = inputs_for(forward);
  EXPECT_TRUE(agrees_with_differences(forward, inputs));
  EXPECT_TRUE(agrees_with_differences(forward, inputs, false));
  EXPECT_TRUE(agrees_with_reverse(forward, inputs, 1));
}

// Forward over reverse, forward over forward, reverse over forward.
TEST_P(Tangents, ComposeWithBothModes) {
  Forward f;
  const Graph forward = GetParam().build(f);
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  const std::vector<Array> inputs = inputs_for(forward);
  Random random(9);
  std::vector<Array> cotangents;
  for (size_t k : outputs)
    cotangents.push_back(random_like(forward.info(forward.outputs[k]), random));
  const std::vector<Array> tangents = directions(forward, wrt, random);
  EXPECT_TRUE(agrees_with_differences(vjp(forward, {wrt, outputs}), joined(inputs, cotangents)));
  const Graph pushed = jvp(forward, {.wrt = wrt, .keep_outputs = true});
  EXPECT_TRUE(agrees_with_differences(pushed, joined(inputs, tangents)));
  EXPECT_TRUE(check_gradients(pushed, joined(inputs, tangents), 1));
}

INSTANTIATE_TEST_SUITE_P(Forwards, Tangents, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

TEST(ForwardProduct, IsExactWithZeros) {
  for (const std::vector<double>& row :
       {std::vector<double>{2, 0, 3, 5}, {0, 2, 0, 3}, {0, 0, 0, 4}, {2, 3, 4, 5}}) {
    Forward f;
    const TensorId x = f.input("x", {4});
    const Graph forward = f.returning({f.reduce(CombinerKind::Product, "y", {}, {4},
                                                [&](const Axes& i) { return f.at(x, {i[0]}); })});
    const std::vector<double> t{7, 11, 13, 17};
    double wanted = 0;
    for (size_t k = 0; k < 4; ++k) {
      double others = t[k];
      for (size_t o = 0; o < 4; ++o) others *= o == k ? 1 : row[o];
      wanted += others;
    }
    const std::vector<Array> in{Array::of(DType::Float64, {4}, row),
                                Array::of(DType::Float64, {4}, t)};
    EXPECT_EQ(interpret(jvp(forward, {.wrt = {0}}), in)[0].at(0), wanted);
  }
}

TEST(ForwardOptions, StopsIntegersAndErrors) {
  Forward f;
  const TensorId x = f.input("x", {3});
  f.input("n", {3}, DType::Int64);
  const TensorId stopped = f.map("s", {3}, [&](const Axes& i) { return f.at(x, i) * 2.0; });
  f.graph.stages.back().stop_gradient = true;
  const TensorId y = f.map("y", {3}, [&](const Axes& i) { return f.at(stopped, i) * f.at(x, i); });
  const TensorId count = f.map("count", {3}, [&](const Axes& i) {
    return Ex{&f.graph.pool, f.graph.pool.cast(f.at(x, i).id, DType::Int64)};
  });
  const Graph forward = f.returning({count, y, stopped});
  const Graph g = jvp(forward, {.wrt = {0}, .keep_outputs = true});
  ASSERT_EQ(g.outputs.size(), 5u);  // count, y, stopped, t_y, t_stopped
  const std::vector<double> at{1, 2, 3}, t{1, 10, 100}, zeros(3, 0);
  const std::vector<Array> out = interpret(
      g, std::vector<Array>{Array::of(DType::Float64, {3}, at), Array::of(DType::Int64, {3}, zeros),
                            Array::of(DType::Float64, {3}, t)});
  for (int64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(out[3].at(k), 2 * at[static_cast<size_t>(k)] * t[static_cast<size_t>(k)]);
    EXPECT_EQ(out[4].at(k), 0);
  }
  const auto code = [&](std::vector<size_t> wrt) {
    try {
      jvp(forward, {.wrt = std::move(wrt)});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code({1}), ErrorCode::NotDifferentiable);
  EXPECT_EQ(code({2}), ErrorCode::Invalid);
  EXPECT_EQ(code({0, 0}), ErrorCode::Invalid);
}

// A chain of factors: linear in nodes. Twice the factors must not give four times the nodes.
TEST(ForwardSize, IsLinear) {
  const auto size = [](size_t factors) {
    Forward f;
    const TensorId x = f.input("x", {3}), w = f.input("w", {3});
    const Graph forward = f.returning({f.map("y", {3}, [&](const Axes& i) {
      Ex product = f.at(x, i);
      for (size_t k = 0; k < factors; ++k)
        product = call(Op::Sin, product * f.at(w, i)) + f.at(x, i);
      return product;
    })});
    return jvp(forward, {.wrt = {0, 1}}).pool.size();
  };
  const size_t small = size(500), large = size(5000);
  EXPECT_LT(large, 11 * small);
}

// Contractions stay contractions: one sum of a plain product for each operand that moves.
TEST(ForwardContraction, OneProductASum) {
  const Graph g = jvp(forward_named("matmul"), {.wrt = {0, 1}});
  size_t sums = 0;
  for (const Stage& stage : g.stages) {
    if (stage.combiner.kind != CombinerKind::Sum) continue;
    ++sums;
    EXPECT_TRUE(g.pool.is(stage.bodies[0], Op::Mul)) << print(g);
  }
  EXPECT_EQ(sums, 2u) << print(g);
}

// ADJIT_FUZZ_CASES asks for more.
TEST(ForwardFuzz, RandomGraphsAgreeWithReverse) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  const uint64_t cases = text ? std::strtoull(text, nullptr, 10) : 300;
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    const Graph graph = random_graph(seed, {.scatters = seed % 3 == 0, .zero_extents = true});
    const std::vector<Array> inputs = small_inputs(graph, seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      ASSERT_TRUE(agrees_with_reverse(graph, inputs, seed));
      ++compared;
    } catch (const Error& error) {  // reverse mode through a scatter by max
      ASSERT_EQ(error.code(), ErrorCode::NotDifferentiable) << error.what();
      EXPECT_NO_THROW(verify(jvp(graph, {.wrt = float_inputs(graph)})));
    }
  }
  EXPECT_GT(compared, cases / 2);
}

// Found by the fuzz test: the support of a cotangent read a tensor at points outside the rows that
// made the read legal.
TEST(ForwardFuzz, SupportsReadInRange) {
  const uint64_t seed = 1858;
  const Graph graph = random_graph(seed, {.zero_extents = true});
  EXPECT_TRUE(agrees_with_reverse(graph, small_inputs(graph, seed), seed));
}

}  // namespace
}  // namespace adjit::testing
