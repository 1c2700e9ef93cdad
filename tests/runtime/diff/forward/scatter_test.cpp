// tests/runtime/diff/forward/scatter_test.cpp -- the tangent of a scatter, for every combiner, mode
// and tie.
#include "runtime/diff/forward/scatter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/diff/forward/forward.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/tangent_check.hpp"

namespace adjit::testing {
namespace {

// y = initial, then y[index[i] + shift] op= sin(x[i]) * s[i].
Graph scattered(CombinerKind kind, Ties ties, bool with_initial, OutOfRange mode, double shift) {
  Forward f;
  const TensorId x = f.input("x", {6}), s = f.input("s", {6}), start = f.input("start", {4});
  const TensorId index = f.input("index", {6}, DType::Int64);
  const TensorId from = f.map("from", {4}, [&](const Axes& i) { return f.at(start, i) * 2.0; });
  ExprPool& pool = f.graph.pool;
  const Axes i{Ex{&pool, pool.axis(0)}};
  Stage stage;
  stage.kind = StageKind::Scatter;
  stage.domain.extents = {6};
  stage.combiner.kind = kind;
  stage.combiner.ties = ties;
  stage.bodies = {(call(Op::Sin, f.at(x, i)) * f.at(s, i)).id};
  stage.target = {(f.at(index, i) + shift).id};
  stage.out_of_range = mode;
  if (with_initial) stage.initial = from;
  stage.results = {add_tensor(f.graph, "y", DType::Float64, {4})};
  stage.lines = {{"model.py", 5, "scatter"}};
  f.graph.stages.push_back(stage);
  const TensorId y = stage.results[0];
  return f.returning({f.map("z", {4}, [&](const Axes& j) {
    // Nothing may have reached an element: then max is -inf, min +inf.
    const Ex value = f.at(y, j);
    const Ex finite = both(less(number(value, -1e30), value), less(value, number(value, 1e30)));
    return select(finite, value * value, number(value, 0));
  })});
}

TEST(ForwardScatter, EveryCombinerAndMode) {
  for (const CombinerKind kind : {CombinerKind::Sum, CombinerKind::None, CombinerKind::Max,
                                  CombinerKind::Min, CombinerKind::Product})
    for (const Ties ties : {Ties::Even, Ties::First})
      for (const bool initial : {false, true})
        for (const OutOfRange mode : {OutOfRange::Drop, OutOfRange::Clip, OutOfRange::Wrap}) {
          const Graph forward = scattered(kind, ties, initial, mode, -1);
          std::vector<Array> inputs = random_inputs(forward);
          for (int64_t k = 0; k < 6; ++k) inputs[3].set(k, static_cast<double>(k * k % 7));
          SCOPED_TRACE(std::string(name_of(kind)) + (initial ? " initial" : "") +
                       std::to_string(static_cast<int>(mode)));
          EXPECT_TRUE(agrees_with_differences(forward, inputs));
          const Graph first = jvp(forward, {.wrt = {0, 1, 2}});
          Random random(3);
          const std::vector<Array> tangents = directions(forward, {0, 1, 2}, random);
          EXPECT_TRUE(agrees_with_differences(first, joined(inputs, tangents)));
        }
}

// All points and the initial value tie: even averages, first takes the initial value.
TEST(ForwardScatter, TiesAndZeros) {
  std::vector<Array> inputs{Array::of(DType::Float64, {6}, std::vector<double>(6, M_PI / 2)),
                            Array::of(DType::Float64, {6}, std::vector<double>(6, 1)),
                            Array::of(DType::Float64, {4}, std::vector<double>(4, 0.5)),
                            Array::of(DType::Int64, {6}, std::vector<double>{0, 0, 0, 1, 2, 2}),
                            Array::of(DType::Float64, {6}, std::vector<double>{1, 2, 3, 4, 5, 6}),
                            Array::of(DType::Float64, {4}, std::vector<double>{10, 20, 30, 40})};
  const auto run = [&](Ties ties, bool initial) {
    const Graph g = scattered(CombinerKind::Max, ties, initial, OutOfRange::Error, 0);
    return interpret(jvp(g, {.wrt = {1, 2}}), inputs)[0];  // z = y^2, y = 1: twice the tangent
  };
  const auto expect = [](const Array& found, const std::vector<double>& wanted) {
    for (size_t k = 0; k < wanted.size(); ++k)
      EXPECT_NEAR(found.at(static_cast<int64_t>(k)), wanted[k], 1e-12);
  };
  expect(run(Ties::Even, true), {2 * 26. / 4, 2 * 44. / 2, 2 * 71. / 3, 2 * 80.});
  expect(run(Ties::First, true), {40, 80, 120, 160});
  expect(run(Ties::Even, false), {4, 8, 11, 0});
  expect(run(Ties::First, false), {2, 8, 10, 0});
}

}  // namespace
}  // namespace adjit::testing
