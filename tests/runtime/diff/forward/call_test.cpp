// tests/runtime/diff/forward/call_test.cpp -- the tangent of a call is a call, or refused.
#include "runtime/diff/forward/call.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/scans.hpp"
#include "tests/runtime/diff/tangent_check.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kBlock = R"(def f(double(3) x, double(3) z) -> (y, w, n) {
  call (y, w, n) = block[recompute](double(3) p = x, double(3) q = z) -> (u, v, k) {
    u(i) = sin(p(i)) * q(i)
    v(i) = exp(q(i))
    k(i) = int64(p(i))
  }
})";

TEST(ForwardCall, StaysOneCallWithTangentsOfWhatMoves) {
  const Graph tangent = jvp(parse_graph(kBlock), {.wrt = {0}, .keep_outputs = true});
  verify(tangent);
  const Stage* call = nullptr;
  for (const Stage& stage : tangent.stages)
    if (stage.kind == StageKind::Call) call = &stage;
  ASSERT_NE(call, nullptr) << print(tangent);
  EXPECT_TRUE(call->call->recompute);
  EXPECT_EQ(call->operands.size(), 3u) << "x, z and the tangent of x";
  EXPECT_EQ(call->results.size(), 4u) << "w does not move with x, and n is whole";
}

TEST(ForwardCall, TangentsAreThoseOfTheBody) {
  const Graph forward = parse_graph(kBlock);
  const Graph tangent = jvp(forward, {.wrt = {0, 1}, .keep_outputs = true});
  const auto array = [](std::vector<double> values) {
    return Array::of(DType::Float64, {3}, values);
  };
  const std::vector<Array> at{array({0.3, -1, 2}), array({1, 0.5, -0.25})};
  std::vector<Array> all = at;
  all.push_back(array({1, 2, -1}));
  all.push_back(array({0.5, -1, 3}));
  const std::vector<Array> got = interpret(tangent, all);
  ASSERT_EQ(got.size(), 5u);
  const double h = 1e-6;
  const auto moved = [&](double step) {
    std::vector<Array> inputs = at;
    for (size_t k = 0; k < 2; ++k)
      for (int64_t e = 0; e < 3; ++e) inputs[k].set(e, at[k].at(e) + step * all[k + 2].at(e));
    return interpret(forward, inputs);
  };
  const std::vector<Array> up = moved(h), down = moved(-h);
  for (size_t k = 0; k < 2; ++k)
    for (int64_t e = 0; e < 3; ++e)
      EXPECT_NEAR(got[3 + k].at(e), (up[k].at(e) - down[k].at(e)) / (2 * h), 1e-8);
}

void expect_refused(const char* source, const char* part) {
  try {
    jvp(parse_graph(source), {.wrt = {0}});
    ADD_FAILURE() << "taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(ForwardCall, OpaqueCallsAndGradientsByHandAreRefused) {
  expect_refused("def f(double(3) x) -> (v) { call (double(3) v) = sort(x) }",
                 "'sort' has no derivative; stop_gradient");
  expect_refused(R"(def f(double(3) x) -> (y) {
    call (y) = clipped[custom](double(3) p = x) -> (u) {
      u(i) = p(i) * 2
    } forward (double(3) p) -> (u) {
      u(i) = p(i) * 2
    } backward (double(3) d) -> (e) {
      e(i) = min(d(i), 1)
    }
  })",
                 "use grad, vjp or jacobian first");
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

}  // namespace
}  // namespace adjit::testing
