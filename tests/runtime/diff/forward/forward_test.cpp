// tests/runtime/diff/forward/forward_test.cpp -- forward mode against differences, and against
// reverse mode by <c, J t> = <J' c, t>.
#include "runtime/diff/forward/forward.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/scans.hpp"
#include "tests/runtime/diff/table.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

Array random_like(const TensorInfo& info, Random& random) {
  Array array = Array::zeros(info.dtype, info.shape);
  for (int64_t k = 0; k < array.element_count(); ++k)
    array.set(k, static_cast<double>(random.between(-100, 100)) / 64);
  return array;
}

std::vector<Array> directions(const Graph& graph, const std::vector<size_t>& wrt, Random& random) {
  std::vector<Array> list;
  for (size_t k : wrt) list.push_back(random_like(graph.info(graph.inputs[k]), random));
  return list;
}

double dot(const Array& a, const Array& b) {
  double total = 0;
  for (int64_t k = 0; k < a.element_count(); ++k) total += a.at(k) * b.at(k);
  return total;
}

std::vector<Array> joined(std::vector<Array> a, const std::vector<Array>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Array> moved(std::vector<Array> inputs, const std::vector<size_t>& wrt,
                         const std::vector<Array>& tangents, double step) {
  for (size_t n = 0; n < wrt.size(); ++n)
    for (int64_t e = 0; e < tangents[n].element_count(); ++e)
      inputs[wrt[n]].set(e, inputs[wrt[n]].at(e) + step * tangents[n].at(e));
  return inputs;
}

// Every output's tangent against central differences along the direction, 1e-6 relative.
::testing::AssertionResult agrees_with_differences(const Graph& forward,
                                                   const std::vector<Array>& inputs,
                                                   bool clean = true) {
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  Random random(5);
  const std::vector<Array> tangents = directions(forward, wrt, random);
  const Graph derived = jvp(forward, {.wrt = wrt, .clean = clean});
  verify(derived);
  const std::vector<Array> found = interpret(derived, joined(inputs, tangents));
  constexpr double h = 1e-3;
  std::vector<std::vector<Array>> at;
  for (const double step : {h, -h, h / 2, -h / 2})
    at.push_back(interpret(forward, moved(inputs, wrt, tangents, step)));
  for (size_t n = 0; n < outputs.size(); ++n) {
    double largest = 1e-3;
    for (int64_t e = 0; e < found[n].element_count(); ++e)
      largest = std::max(largest, std::abs(found[n].at(e)));
    for (int64_t e = 0; e < found[n].element_count(); ++e) {
      const auto value = [&](size_t k) { return at[k][outputs[n]].at(e); };
      const double coarse = (value(0) - value(1)) / (2 * h), fine = (value(2) - value(3)) / h;
      const double wanted = (4 * fine - coarse) / 3;
      if (!(std::abs(found[n].at(e) - wanted) <= 1e-6 * largest))
        return ::testing::AssertionFailure()
               << "tangent of output " << n << "[" << e << "]: derived " << found[n].at(e)
               << ", differences give " << wanted << "\n"
               << print(derived);
    }
  }
  return ::testing::AssertionSuccess();
}

// <c, J t> and <J' c, t>; nothing where a number is not finite.
::testing::AssertionResult agrees_with_reverse(const Graph& forward,
                                               const std::vector<Array>& inputs, uint64_t seed) {
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  Random random(seed + 1000);
  const std::vector<Array> tangents = directions(forward, wrt, random);
  std::vector<Array> cotangents;
  for (size_t k : outputs)
    cotangents.push_back(random_like(forward.info(forward.outputs[k]), random));
  const Graph pushed = jvp(forward, {.wrt = wrt}), pulled = vjp(forward, {wrt, outputs});
  verify(pushed);
  verify(pulled);
  const std::vector<Array> up = interpret_in_double(pushed, joined(inputs, tangents));
  const std::vector<Array> down = interpret_in_double(pulled, joined(inputs, cotangents));
  double forwards = 0, backwards = 0, scale = 1;
  for (size_t n = 0; n < outputs.size(); ++n) {
    forwards += dot(cotangents[n], up[n]);
    scale += std::sqrt(dot(cotangents[n], cotangents[n]) * dot(up[n], up[n]));
  }
  for (size_t n = 0; n < wrt.size(); ++n) {
    backwards += dot(down[n], tangents[n]);
    scale += std::sqrt(dot(down[n], down[n]) * dot(tangents[n], tangents[n]));
  }
  if (!std::isfinite(forwards) || !std::isfinite(backwards)) return ::testing::AssertionSuccess();
  // Constants of float32 graphs stay rounded to float32 when the operations run in float64.
  if (std::abs(forwards - backwards) <= 1e-6 * scale) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "forward " << forwards << ", reverse " << backwards << "\n"
         << print(forward) << print(pushed);
}

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

TEST(ForwardScan, AgreesWithDifferencesAndReverse) {
  for (const bool reverse : {false, true}) {
    const Graph forward = recurrent(reverse);
    const std::vector<Array> inputs = random_inputs(forward);
    EXPECT_TRUE(agrees_with_differences(forward, inputs));
    EXPECT_TRUE(agrees_with_reverse(forward, inputs, 2));
    const std::vector<size_t> wrt = float_inputs(forward);
    const Graph hvp = vjp(forward, {wrt, {0, 1}});
    EXPECT_TRUE(agrees_with_differences(hvp, random_inputs(hvp)));
    const Graph twice = jvp(forward, {.wrt = wrt});
    EXPECT_TRUE(agrees_with_differences(twice, random_inputs(twice)));
    EXPECT_TRUE(check_gradients(twice, random_inputs(twice), 1));
  }
}

TEST(ForwardScan, OnlyCarriesThatDependGetTangents) {
  const Graph forward = recurrent(false);
  // xs moves: h becomes dependent, the step counter does not.
  const Graph g = jvp(forward, {.wrt = {1}});
  size_t scans = 0;
  for (const Stage& stage : g.stages) {
    if (stage.kind != StageKind::Scan) continue;
    ++scans;
    EXPECT_EQ(stage.scan->carries, 3u);
  }
  EXPECT_EQ(scans, 1u) << print(g);
  const std::vector<Array> inputs = random_inputs(g);
  const Graph all = jvp(forward, {.wrt = {0, 1, 2, 3}});
  std::vector<Array> given(inputs.begin(), inputs.begin() + 4);
  for (const size_t k : {0u, 1u, 2u, 3u}) {
    const TensorInfo& info = forward.info(forward.inputs[k]);
    given.push_back(k == 1 ? inputs[4] : Array::zeros(info.dtype, info.shape));
  }
  const std::vector<Array> some = interpret(g, inputs), every = interpret(all, given);
  for (size_t k = 0; k < some.size(); ++k)
    for (int64_t e = 0; e < some[k].element_count(); ++e)
      EXPECT_NEAR(some[k].at(e), every[k].at(e), 1e-12);
}

TEST(ForwardScan, WithACondition) {
  const Graph forward = newton();
  for (const int64_t steps : {0, 1, 4}) {
    std::vector<Array> inputs = random_inputs(forward);
    inputs[2].set(0, static_cast<double>(steps));
    EXPECT_TRUE(agrees_with_differences(forward, inputs));
    const Graph twice = jvp(forward, {.wrt = {0, 1}});
    std::vector<Array> more = random_inputs(twice);
    more[2].set(0, static_cast<double>(steps));
    EXPECT_TRUE(agrees_with_differences(twice, more));
  }
  EXPECT_EQ(parse_graph(print(jvp(forward, {.wrt = {1}}))).stages.size(),
            jvp(forward, {.wrt = {1}}).stages.size());
}

TEST(ForwardCall, ToRecomputeStaysSo) {
  const Graph forward = called(false);
  EXPECT_TRUE(agrees_with_differences(forward, random_inputs(forward)));
  EXPECT_TRUE(agrees_with_reverse(forward, random_inputs(forward), 3));
  const Graph g = jvp(forward, {.wrt = {0}, .keep_outputs = true});
  EXPECT_EQ(
      std::ranges::count_if(g.stages, [](const Stage& s) { return s.call && s.call->recompute; }),
      1);
  EXPECT_TRUE(check_gradients(g, random_inputs(g), 1));
}

TEST(ForwardCall, WithAGradientByHandIsRefusedButItsGradientIsNot) {
  const Graph forward = called(true);
  try {
    jvp(forward, {.wrt = {0}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(error.what()).find("model.py:11"), std::string::npos) << error.what();
  }
  const Graph gradients = vjp(forward, {{0, 1}, {0}});
  EXPECT_TRUE(agrees_with_differences(gradients, random_inputs(gradients)));
}

// log(sum exp) as a reducer of pairs (largest, sum), and the last of two by a decay: associative.
Graph online_softmax(Forward& f) {
  const TensorId x = f.input("x", {3, 5}), w = f.input("w", {5});
  ExprPool& pool = f.graph.pool;
  const DType d = DType::Float64;
  const auto arg = [&](size_t k) { return pool.argument(k, d); };
  const ExprId m = pool.make(Op::Max, {arg(0), arg(2)});
  const auto scaled = [&](size_t k) {
    return pool.mul(arg(k + 1), pool.make(Op::Exp, {pool.sub(arg(k), m)}));
  };
  Combiner combiner;
  combiner.kind = CombinerKind::Custom;
  combiner.combine = {m, pool.add(scaled(0), scaled(2))};
  combiner.identity = {pool.constant_float(-1e30, d), pool.constant_float(0, d)};
  Domain domain;
  domain.extents = {3, 5};
  domain.output_rank = 1;
  const ExprId at[] = {pool.axis(0), pool.axis(1)}, along[] = {pool.axis(1)};
  const ExprId body = pool.mul(read(f.graph, x, at), read(f.graph, w, along));
  const std::vector<TensorId> pair =
      add_compute(f.graph, "pair", domain, combiner, {body, pool.constant_float(1, d)});
  return f.returning({f.map("y", {3}, [&](const Axes& i) {
    return f.at(pair[0], i) + call(Op::Log, f.at(pair[1], i));
  })});
}

TEST(ForwardCustom, ReducersOfDualNumbers) {
  Forward f;
  const Graph forward = online_softmax(f);
  const std::vector<Array> inputs = random_inputs(forward);
  EXPECT_TRUE(agrees_with_differences(forward, inputs));
  EXPECT_TRUE(agrees_with_differences(forward, inputs, false));
  const Graph first = jvp(forward, {.wrt = {0, 1}, .keep_outputs = true});
  EXPECT_TRUE(agrees_with_differences(first, random_inputs(first)));
  const Graph second = jvp(first, {.wrt = {0, 1, 2, 3}});
  EXPECT_TRUE(agrees_with_differences(second, random_inputs(second)));
}

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

TEST(ForwardCall, IsRefusedWithLineAndRemedy) {
  Forward f;
  const TensorId x = f.input("x", {3});
  Stage call;
  call.kind = StageKind::Call;
  call.callee = "sort";
  call.operands = {x};
  call.results = {add_tensor(f.graph, "sorted", DType::Float64, {3})};
  call.lines = {{"model.py", 7, "sort"}};
  f.graph.stages.push_back(call);
  const Graph forward = f.returning({call.results[0]});
  try {
    jvp(forward, {.wrt = {0}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(error.what()).find("model.py:7"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(jvp(forward, {.wrt = {}}));
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
