// tests/runtime/diff/batch/batch_test.cpp -- batching against a loop over slices, bit by bit.
#include "runtime/diff/batch/batch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/scans.hpp"
#include "tests/runtime/diff/table.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using AxisList = std::vector<BatchAxis>;

// Element b of the batch that lies along `axis`.
Array element(const Array& array, BatchAxis axis, int64_t b) {
  if (!axis) return array;
  std::vector<int64_t> shape = array.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  Array slice = Array::zeros(array.dtype, shape);
  int64_t inner = 1;
  for (size_t k = *axis; k < shape.size(); ++k) inner *= shape[k];
  const int64_t size = array.shape[*axis];
  const size_t bytes = size_of(array.dtype);
  for (int64_t k = 0; k < slice.element_count(); ++k) {
    const int64_t from = (k / inner * size + b) * inner + k % inner;
    std::memcpy(slice.bytes.data() + static_cast<size_t>(k) * bytes,
                array.bytes.data() + static_cast<size_t>(from) * bytes, bytes);
  }
  return slice;
}

bool same_bits(const Array& a, const Array& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  for (int64_t k = 0; k < a.element_count(); ++k)
    if (a.at(k) != b.at(k) && !(std::isnan(a.at(k)) && std::isnan(b.at(k)))) return false;
  return true;
}

// Random places for the batch; at least one input has one.
AxisList random_axes(const Graph& graph, const std::vector<TensorId>& tensors, Random& random,
                     int percent) {
  AxisList axes;
  for (TensorId t : tensors) {
    const auto rank = static_cast<int64_t>(graph.info(t).shape.size());
    axes.push_back(random.chance(percent) ? BatchAxis(static_cast<size_t>(random.between(0, rank)))
                                          : BatchAxis());
  }
  return axes;
}

struct Batched {
  Graph graph;
  AxisList in, out;
};

constexpr int64_t kSize = 3;

Batched batched(const Graph& graph, Random& random) {
  Batched b{Graph{}, random_axes(graph, graph.inputs, random, 60),
            random_axes(graph, graph.outputs, random, 100)};
  if (!b.in.empty() && !b.in[0]) b.in[0] = 0;
  b.graph = vmap(graph, b.in, kSize, b.out);
  verify(b.graph);
  return b;
}

// What `batched` gives against `graph` on each element.
::testing::AssertionResult agrees_with_loop(const Graph& graph, const Batched& b,
                                            const std::vector<Array>& inputs,
                                            const Graph& batched_graph) {
  const std::vector<Array> found = interpret(batched_graph, inputs);
  for (int64_t e = 0; e < kSize; ++e) {
    std::vector<Array> one;
    for (size_t k = 0; k < inputs.size(); ++k) one.push_back(element(inputs[k], b.in[k], e));
    const std::vector<Array> wanted = interpret(graph, one);
    for (size_t k = 0; k < wanted.size(); ++k)
      if (!same_bits(element(found[k], b.out[k], e), wanted[k]))
        return ::testing::AssertionFailure()
               << "output " << k << " differs at element " << e << "\n"
               << print(graph) << print(batched_graph);
  }
  return ::testing::AssertionSuccess();
}

std::vector<Array> batched_inputs(const Graph& graph) {
  std::vector<Array> inputs = random_inputs(graph);
  for (Array& input : inputs)
    if (input.dtype == DType::Int64)
      for (int64_t k = 0; k < input.element_count(); ++k)
        input.set(k, static_cast<double>(k * k / 2 % 2));
  return inputs;
}

::testing::AssertionResult check(const Graph& graph, uint64_t seed) {
  Random random(seed);
  const Batched b = batched(graph, random);
  return agrees_with_loop(graph, b, batched_inputs(b.graph), b.graph);
}

class Batching : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(Batching, IsALoopOverSlices) {
  Forward f;
  const Graph forward = GetParam().build(f);
  for (const uint64_t seed : {1u, 2u, 3u}) EXPECT_TRUE(check(forward, seed));
}

TEST_P(Batching, OfDerivativesAndOfItself) {
  Forward f;
  const Graph forward = GetParam().build(f);
  const std::vector<size_t> wrt = float_inputs(forward);
  EXPECT_TRUE(check(vjp(forward, {wrt, float_outputs(forward)}), 4));
  EXPECT_TRUE(check(jvp(forward, {.wrt = wrt}), 5));
  Random random(6);
  EXPECT_TRUE(check(batched(forward, random).graph, 7));
}

// The gradient of a batched input is the loop's, that of any other input the loop's sum.
TEST_P(Batching, DerivativesOfIt) {
  Forward f;
  const Graph forward = GetParam().build(f);
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  Random random(8);
  const Batched b = batched(forward, random);
  const Graph one = vjp(forward, {wrt, outputs}), all = vjp(b.graph, {wrt, outputs});
  const std::vector<Array> inputs = batched_inputs(all);
  const std::vector<Array> found = interpret(all, inputs);
  std::vector<Array> sums;
  for (int64_t e = 0; e < kSize; ++e) {
    std::vector<Array> given;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const size_t cotangent = k - std::min(k, b.in.size());
      given.push_back(element(inputs[k], k < b.in.size() ? b.in[k] : b.out[outputs[cotangent]], e));
    }
    const std::vector<Array> gradients = interpret(one, given);
    for (size_t n = 0; n < wrt.size(); ++n) {
      if (e == 0) sums.push_back(Array::zeros(gradients[n].dtype, gradients[n].shape));
      const Array own = element(found[n], b.in[wrt[n]], e);
      for (int64_t k = 0; k < own.element_count(); ++k) {
        sums[n].set(k, sums[n].at(k) + gradients[n].at(k));
        if (b.in[wrt[n]]) {
          EXPECT_NEAR(own.at(k), gradients[n].at(k), 1e-10);
        }
      }
    }
  }
  for (size_t n = 0; n < wrt.size(); ++n)
    for (int64_t k = 0; !b.in[wrt[n]] && k < sums[n].element_count(); ++k)
      EXPECT_NEAR(found[n].at(k), sums[n].at(k), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Forwards, Batching, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

TEST(BatchingScan, AnyOperandsBothDirections) {
  for (const bool reverse : {false, true})
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      const Graph forward = recurrent(reverse);
      EXPECT_TRUE(check(forward, seed));
      EXPECT_TRUE(check(vjp(forward, {{0, 1, 2, 3}, {0, 1}}), seed));
      EXPECT_TRUE(check(jvp(forward, {.wrt = {0, 1, 2, 3}}), seed));
    }
}

// Only xs is batched: the state becomes so by the step, the step counter does not.
TEST(BatchingScan, CarriesAreBatchedWhereTheStepMakesThemSo) {
  const Graph g = vmap(recurrent(false), AxisList{{}, 0, {}, {}}, 5, AxisList{0, 0});
  for (const Stage& stage : g.stages) {
    if (stage.kind != StageKind::Scan) continue;
    EXPECT_EQ(g.info(stage.results[0]).shape, (std::vector<int64_t>{5, 3}));
    EXPECT_EQ(g.info(stage.results[1]).shape, (std::vector<int64_t>{}));
    EXPECT_EQ(g.info(stage.results[2]).shape, (std::vector<int64_t>{4, 5, 3}));
  }
}

// Elements stop at different steps where the condition is batched.
TEST(BatchingScan, WithACondition) {
  const Graph forward = newton();
  for (const bool pushed : {false, true}) {
    const Graph graph = pushed ? jvp(forward, {.wrt = {0, 1}, .keep_outputs = true}) : forward;
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      Random random(seed);
      const Batched b = batched(graph, random);
      std::vector<Array> inputs = random_inputs(b.graph);
      for (int64_t k = 0; k < inputs[2].element_count(); ++k)
        inputs[2].set(k, static_cast<double>(5 - 2 * k));
      EXPECT_TRUE(agrees_with_loop(graph, b, inputs, b.graph));
    }
  }
}

TEST(BatchingCall, ToRecomputeAndWithAGradientByHand) {
  for (const bool by_hand : {false, true})
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      EXPECT_TRUE(check(called(by_hand), seed));
      EXPECT_TRUE(check(vjp(called(by_hand), {{0, 1}, {0}}), seed));
    }
}

// The gradient by hand of a shared operand is the sum over the batch.
TEST(BatchingCall, GradientByHandOfWhatElementsShare) {
  const Graph g = called(true);
  const Graph all = vjp(vmap(g, AxisList{0, {}}, 2, AxisList{0}), {{0, 1}, {0}});
  const Graph one = vjp(g, {{0, 1}, {0}});
  const std::vector<Array> inputs = random_inputs(all);
  const std::vector<Array> found = interpret(all, inputs);
  std::vector<double> sum(3, 0);
  for (int64_t e = 0; e < 2; ++e) {
    const std::vector<Array> own = interpret(
        one, std::vector<Array>{element(inputs[0], 0, e), inputs[1], element(inputs[2], 0, e)});
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(element(found[0], 0, e).at(k), own[0].at(k), 1e-12);
      sum[static_cast<size_t>(k)] += own[1].at(k);
    }
  }
  for (int64_t k = 0; k < 3; ++k) EXPECT_NEAR(found[1].at(k), sum[static_cast<size_t>(k)], 1e-12);
}

TEST(Batching, StagesThatDoNotDependStayAndOutputsRepeat) {
  Forward f;
  const TensorId x = f.input("x", {2}), w = f.input("w", {2});
  const TensorId e = f.map("e", {2}, [&](const Axes& i) { return call(Op::Exp, f.at(w, i)); });
  const TensorId y = f.map("y", {2}, [&](const Axes& i) { return f.at(e, i) * f.at(x, i); });
  const Graph forward = f.returning({y, e});
  const Graph g = vmap(forward, AxisList{1, {}}, 3, AxisList{0, 1});
  EXPECT_EQ(g.info(g.stages[0].results[0]).shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(g.info(g.outputs[1]).shape, (std::vector<int64_t>{2, 3}));
  const Graph kept = vmap(forward, AxisList{1, {}}, 3, AxisList{0, {}});
  EXPECT_EQ(kept.info(kept.outputs[1]).shape, (std::vector<int64_t>{2}));
  const auto message = [&](const AxisList& in, int64_t size, const AxisList& out) {
    try {
      vmap(forward, in, size, out);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Invalid);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({0, {}}, 3, {{}, 0}).find("'y' depends on the batch"), std::string::npos);
  EXPECT_NE(message({2, {}}, 3, {0, 0}).find("'x' is 2"), std::string::npos);
  EXPECT_NE(message({0}, 3, {0, 0}).find("2 inputs"), std::string::npos);
  EXPECT_NE(message({0, 0}, -1, {0, 0}).find("negative"), std::string::npos);
}

TEST(Batching, RefusesCallsThatDepend) {
  Forward f;
  const TensorId x = f.input("x", {3});
  f.input("w", {3});
  Stage call;
  call.kind = StageKind::Call;
  call.callee = "sort";
  call.operands = {x};
  call.results = {add_tensor(f.graph, "sorted", DType::Float64, {3})};
  call.lines = {{"model.py", 7, "sort"}};
  f.graph.stages.push_back(call);
  const Graph forward = f.returning({call.results[0]});
  try {
    vmap(forward, AxisList{0, {}}, 2, AxisList{0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("model.py:7"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(vmap(forward, AxisList{{}, 0}, 2, AxisList{0}));
}

// ADJIT_FUZZ_CASES asks for more.
TEST(BatchingFuzz, RandomGraphsAndTheirDerivatives) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  const uint64_t cases = text ? std::strtoull(text, nullptr, 10) : 200;
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    const Graph graph = random_graph(
        seed, {.scatters = seed % 2 == 0, .custom_combiners = true, .zero_extents = true});
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Batched b = batched(graph, random);
    const std::vector<Array> inputs = small_inputs(b.graph, seed);
    ASSERT_TRUE(agrees_with_loop(graph, b, inputs, b.graph));
    const Graph cleaned = simplify(b.graph);
    verify(cleaned);
    const Graph pushed = jvp(graph, {.wrt = float_inputs(graph)});
    const Batched p = batched(pushed, random);
    ASSERT_TRUE(agrees_with_loop(pushed, p, small_inputs(p.graph, seed), p.graph));
    verify(jvp(b.graph, {.wrt = float_inputs(b.graph)}));
  }
}

}  // namespace
}  // namespace adjit::testing
