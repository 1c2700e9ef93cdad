// tests/runtime/diff/semantics_test.cpp -- what is promised about branches, ties, refusals, and
// what is derived at all.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"
#include "tests/runtime/graph/array_values.hpp"

namespace adjit::testing {
namespace {

// Gradient of sum(output 0) with respect to input 0, with and without clean-up (which must agree).
std::vector<double> gradient_of_sum(const Graph& forward, const std::vector<Array>& inputs) {
  std::vector<double> result;
  for (const bool clean : {false, true}) {
    ReverseOptions options{{0}, {0}};
    options.clean = clean;
    std::vector<Array> all(inputs);
    const TensorInfo& out = forward.info(forward.outputs[0]);
    all.push_back(Array::of(out.dtype, out.shape,
                            std::vector<double>(static_cast<size_t>(out.element_count()), 1)));
    const std::vector<double> got = values(interpret(vjp(forward, options), all)[0]);
    if (!clean) {
      result = got;
    } else {
      EXPECT_EQ(got, result);
    }
  }
  return result;
}

Array vector_of(const std::vector<double>& list) {
  return Array::of(DType::Float64, {static_cast<int64_t>(list.size())}, list);
}

Ex positive(Ex v) { return less(number(v, 0), v); }

TEST(Branches, UnselectedBranchNeverReachesTheGradient) {
  // where(x > 0, sqrt(x), 0) at 0: torch gives NaN, the library 0.
  Forward f;
  const TensorId x = f.input("x", {3});
  const Graph forward = f.returning({f.map("y", {3}, [&](const Axes& i) {
    const Ex v = f.at(x, i);
    return select(positive(v), call(Op::Sqrt, v), number(v, 0));
  })});
  EXPECT_EQ(gradient_of_sum(forward, {vector_of({0, 4, -1})}), (std::vector<double>{0, 0.25, 0}));
}

TEST(Branches, NorThroughSeveralStages) {
  // s = sqrt(x); t = 1 / s; y = where(x > 0, t * s, 0) over three stages, then a select over both
  // uses.
  Forward f;
  const TensorId x = f.input("x", {3});
  const TensorId s = f.map("s", {3}, [&](const Axes& i) { return call(Op::Sqrt, f.at(x, i)); });
  const TensorId t =
      f.map("t", {3}, [&](const Axes& i) { return number(f.at(s, i), 1) / f.at(s, i); });
  const TensorId y = f.map("y", {3}, [&](const Axes& i) {
    const Ex v = f.at(x, i);
    return select(positive(v), f.at(t, i), number(v, 0)) +
           select(positive(v), f.at(s, i) * 2.0, v * 3.0);
  });
  EXPECT_EQ(gradient_of_sum(f.returning({y}), {vector_of({0, 4, -1})}),
            (std::vector<double>{3, -0.0625 + 0.5, 3}));
}

TEST(Branches, NorPastASlice) {
  // Only the first two of sqrt(x) are used; x[2] = 0 would give 0 * inf.
  Forward f;
  const TensorId x = f.input("x", {3});
  const TensorId s = f.map("s", {3}, [&](const Axes& i) { return call(Op::Sqrt, f.at(x, i)); });
  const TensorId y = f.map("y", {2}, [&](const Axes& i) { return f.at(s, i) * 2.0; });
  EXPECT_EQ(gradient_of_sum(f.returning({y}), {vector_of({1, 4, 0})}),
            (std::vector<double>{1, 0.5, 0}));
}

TEST(Branches, DisjunctionsOfUses) {
  // Two guarded uses of one costly value: reached where either holds.
  Forward f;
  const TensorId x = f.input("x", {4}), m = f.input("m", {4}), n = f.input("n", {4});
  const TensorId y = f.map("y", {4}, [&](const Axes& i) {
    const Ex root = call(Op::Sqrt, f.at(x, i));
    return select(positive(f.at(m, i)), root, number(root, 0)) +
           select(positive(f.at(n, i)), root * 3.0, number(root, 0));
  });
  EXPECT_EQ(gradient_of_sum(f.returning({y}), {vector_of({0, 0.25, 0.25, 0.25}),
                                               vector_of({0, 1, 0, 1}), vector_of({0, 0, 1, 1})}),
            (std::vector<double>{0, 1, 3, 4}));
}

TEST(Branches, MaximumDoesNotReachTheLoser) {
  Forward f;
  const TensorId x = f.input("x", {2});
  const TensorId y = f.map("y", {2}, [&](const Axes& i) {
    return call(Op::Max, number(f.at(x, i), 1), call(Op::Sqrt, f.at(x, i)));
  });
  EXPECT_EQ(gradient_of_sum(f.returning({y}), {vector_of({0, 4})}), (std::vector<double>{0, 0.25}));
}

TEST(Ties, ArgMaxValueGoesToItsPayloadsPoint) {
  Forward f;
  const TensorId x = f.input("x", {2, 4});
  Domain domain;
  domain.extents = {2, 4};
  domain.output_rank = 1;
  Combiner combiner;
  combiner.kind = CombinerKind::ArgMax;
  for (const int64_t scale : {1, 3}) {  // 3: a payload that does not number the points
    Graph g = f.graph;
    const ExprId index[] = {g.pool.axis(0), g.pool.axis(1)};
    const ExprId payload = g.pool.mul(g.pool.axis(1), g.pool.constant_int(scale));
    g.outputs = add_compute(g, "m", domain, combiner, {read(g, x, index), payload});
    const Array in = Array::of(DType::Float64, {2, 4}, std::vector<double>{1, 3, 3, 2, 5, 1, 5, 5});
    EXPECT_EQ(gradient_of_sum(g, {in}), (std::vector<double>{0, 1, 0, 0, 1, 0, 0, 0}));
  }
}

TEST(Activity, OnlyWhatIsAskedForIsDerived) {
  Forward f;
  const TensorId a = f.input("a", {3}), b = f.input("b", {3});
  const TensorId y =
      f.map("y", {3}, [&](const Axes& i) { return f.at(a, i) * call(Op::Digamma, f.at(b, i)); });
  const Graph g = vjp(f.returning({y}), {{0}, {0}});
  EXPECT_EQ(g.outputs.size(), 1u);
  EXPECT_EQ(g.stages.size(), 1u) << print(g);
}

TEST(Activity, StopGradientAndUnusedInputsGiveZeros) {
  Forward f;
  const TensorId a = f.input("a", {3}), b = f.input("b", {2});
  const TensorId stopped =
      f.map("stopped", {3}, [&](const Axes& i) { return f.at(a, i) * f.at(a, i); });
  f.graph.stages.back().stop_gradient = true;
  const TensorId y = f.map("y", {3}, [&](const Axes& i) { return f.at(stopped, i) * f.at(a, i); });
  (void)b;
  const Graph g = vjp(f.returning({y}), {{0, 1}, {0}});
  const std::vector<Array> got =
      interpret(g, std::vector{vector_of({1, 2, 3}), vector_of({1, 1}), vector_of({1, 1, 1})});
  EXPECT_EQ(values(got[0]), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(values(got[1]), (std::vector<double>{0, 0}));
}

TEST(Activity, InputsThatAreOutputsAndRepeatedPositions) {
  Forward f;
  const TensorId a = f.input("a", {2});
  const TensorId y = f.map("y", {2}, [&](const Axes& i) { return f.at(a, i) * 3.0; });
  const Graph g = vjp(f.returning({a, y, y}), {{0, 0}, {0, 1, 2}});
  const std::vector<Array> got = interpret(
      g, std::vector{vector_of({5, 5}), vector_of({1, 2}), vector_of({1, 1}), vector_of({10, 10})});
  EXPECT_EQ(values(got[0]), (std::vector<double>{34, 35}));
  EXPECT_EQ(values(got[1]), values(got[0]));
}

TEST(Shapes, ZeroSizedTensorsWork) {
  Forward f;
  const TensorId a = f.input("a", {0, 3}), b = f.input("b", {3});
  const TensorId y =
      f.sum("y", {3}, {0}, [&](const Axes& i) { return f.at(a, {i[1], i[0]}) * f.at(b, {i[0]}); });
  const Graph g = vjp(f.returning({y}), {{0, 1}, {0}});
  const std::vector<Array> got =
      interpret(g, std::vector{Array::zeros(DType::Float64, {0, 3}), vector_of({1, 1, 1}),
                               vector_of({1, 1, 1})});
  EXPECT_EQ(got[0].element_count(), 0);
  EXPECT_EQ(values(got[1]), (std::vector<double>{0, 0, 0}));
}

TEST(Shapes, HalfTypesAccumulateInSingle) {
  Forward f;
  const TensorId x = f.input("x", {4}, DType::Float16), w = f.input("w", {4}, DType::Float16);
  const TensorId y = f.map("y", {4}, [&](const Axes& i) {
    ExprPool& pool = f.graph.pool;
    const Ex a{&pool, pool.cast(f.at(x, i).id, DType::Float32)},
        b{&pool, pool.cast(f.at(w, {number(i[0], 0)}).id, DType::Float32)};
    return Ex{&pool, pool.cast((a * b * a).id, DType::Float16)};
  });
  const Graph g = vjp(f.returning({y}), {{0, 1}, {0}});
  EXPECT_EQ(g.info(g.outputs[0]).dtype, DType::Float16);
  const std::vector<double> ones(4, 1), xs{1, 2, 3, 4}, ws{2, 0, 0, 0};
  const std::vector<Array> got = interpret(
      g, std::vector{Array::of(DType::Float16, {4}, xs), Array::of(DType::Float16, {4}, ws),
                     Array::of(DType::Float16, {4}, ones)});
  EXPECT_EQ(values(got[0]), (std::vector<double>{4, 8, 12, 16}));
  EXPECT_EQ(values(got[1]), (std::vector<double>{30, 0, 0, 0}));
}

ErrorCode code_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& e) {
    if (message != nullptr) *message = e.what();
    return e.code();
  }
  return static_cast<ErrorCode>(0);
}

TEST(Refusals, NameTheLineAndTheRemedy) {
  Forward f;
  const TensorId x = f.input("x", {4}), index = f.input("index", {4}, DType::Int32);
  Stage sorted;
  sorted.kind = StageKind::Call;
  sorted.callee = "sort";
  sorted.operands = {x};
  sorted.results = {add_tensor(f.graph, "y", DType::Float64, {4})};
  sorted.lines = {{"model.py", 7, "sort"}};
  f.graph.stages.push_back(sorted);
  const Graph forward = f.returning({sorted.results[0], index});
  std::string message;
  EXPECT_EQ(code_of([&] { vjp(forward, {{0}, {0}}); }, &message), ErrorCode::NotDifferentiable);
  EXPECT_NE(message.find("model.py:7 (sort): 'sort' has no derivative"), std::string::npos)
      << message;
  EXPECT_NE(message.find("custom_vjp"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { vjp(forward, {{1}, {0}}); }, &message), ErrorCode::NotDifferentiable);
  EXPECT_NE(message.find("'index'"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { vjp(forward, {{0}, {1}}); }, &message), ErrorCode::NotDifferentiable);
  EXPECT_NE(message.find("takes no cotangent"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { vjp(forward, {{2}, {0}}); }), ErrorCode::Invalid);
  EXPECT_EQ(code_of([&] { vjp(forward, {{0}, {2}}); }), ErrorCode::Invalid);
}

TEST(Refusals, GradientNeedsAScalar) {
  const Graph forward = forward_named("matmul");
  const std::vector<size_t> wrt{0};
  std::string message;
  EXPECT_EQ(code_of([&] { gradient(forward, wrt, 0, false); }, &message), ErrorCode::Shape);
  EXPECT_NE(message.find("15 elements"), std::string::npos) << message;
}

TEST(Gradient, KeepsTheValueOnRequest) {
  Forward f;
  const TensorId x = f.input("x", {3});
  const TensorId y =
      f.sum("y", {}, {3}, [&](const Axes& i) { return f.at(x, {i[0]}) * f.at(x, {i[0]}); });
  const std::vector<size_t> wrt{0};
  const std::vector<Array> got =
      interpret(gradient(f.returning({y}), wrt, 0, true), std::vector{vector_of({1, 2, 3})});
  EXPECT_EQ(got[0].at(0), 14);
  EXPECT_EQ(values(got[1]), (std::vector<double>{2, 4, 6}));
}

}  // namespace
}  // namespace adjit::testing
