// tests/runtime/diff/size_test.cpp -- derivation is linear (node counts, not time), and gathers
// waste no points.
#include <gtest/gtest.h>

#include <ctime>
#include <iostream>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::testing {
namespace {

// y = y * x, `length` stages.
Graph chain(int64_t length) {
  Forward f;
  const TensorId x = f.input("x", {4});
  TensorId y = x;
  for (int64_t k = 0; k < length; ++k)
    y = f.map("y", {4}, [&](const Axes& i) { return f.at(y, i) * f.at(x, i); });
  return f.returning({y});
}

// y = y * y.
Graph ladder(int64_t length) {
  Forward f;
  TensorId y = f.input("x", {4});
  for (int64_t k = 0; k < length; ++k)
    y = f.map("y", {4}, [&](const Axes& i) { return f.at(y, i) * f.at(y, i); });
  return f.returning({y});
}

// a = y + x; b = y * x; y = a - b.
Graph diamonds(int64_t length) {
  Forward f;
  const TensorId x = f.input("x", {4});
  TensorId y = x;
  for (int64_t k = 0; k < length; ++k) {
    const TensorId a = f.map("a", {4}, [&](const Axes& i) { return f.at(y, i) + f.at(x, i); });
    const TensorId b = f.map("b", {4}, [&](const Axes& i) { return f.at(y, i) * f.at(x, i); });
    y = f.map("y", {4}, [&](const Axes& i) { return f.at(a, i) - f.at(b, i); });
  }
  return f.returning({y});
}

// x * x * ... * x in one body.
Graph power(int64_t factors) {
  Forward f;
  const TensorId x = f.input("x", {4});
  return f.returning({f.map("y", {4}, [&](const Axes& i) {
    Ex total = f.at(x, i);
    for (int64_t k = 1; k < factors; ++k) total = total * f.at(x, i);
    return total;
  })});
}

// Each guarded by a condition on data: supports must not pile up.
Graph guarded(int64_t length) {
  Forward f;
  const TensorId x = f.input("x", {4});
  TensorId y = x;
  for (int64_t k = 0; k < length; ++k)
    y = f.map("y", {4}, [&](const Axes& i) {
      const Ex v = f.at(y, i);
      return select(less(number(v, 0.1), v), call(Op::Sqrt, v) * 1.5, number(v, 0)) +
             f.at(x, i) * 0.1;
    });
  return f.returning({y});
}

struct Size {
  size_t stages, nodes;
};
Size size_of_gradient(const Graph& forward) {
  const Graph g = vjp(forward, {{0}, {0}});
  return {g.stages.size(), g.pool.size()};
}

TEST(Linear, DerivedSizeIsProportionalToTheForward) {
  for (const auto& build : {chain, ladder, diamonds, power, guarded}) {
    const Size one = size_of_gradient(build(200)), five = size_of_gradient(build(1000));
    EXPECT_LE(five.nodes, 6 * one.nodes);
    EXPECT_LE(five.stages, 6 * one.stages);
    EXPECT_LE(one.nodes, 12 * build(200).pool.size());
  }
}

// A sanitizer's stack frames and checks cost ten times as much.
constexpr int64_t kLong = test::kSanitized ? 1000 : 10000;

TEST(Linear, TenThousandDeep) {
  for (const auto& build : {chain, ladder, power}) {
    const Graph forward = build(kLong);
    const Graph g = vjp(forward, {{0}, {0}});
    EXPECT_LE(g.pool.size(), 12 * forward.pool.size());
  }
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each step on a graph of 10,000 stages, within a stack that recursion over the stages would
// overflow. CPU times are printed, not asserted: each is under a second on an idle core.
TEST(Linear, TenThousandStages) {
  struct Case {
    std::string name;
    Graph (*build)(int64_t);
    int64_t length;
  };
  for (const Case& c : {Case{"chain", chain, kLong}, Case{"ladder", ladder, kLong},
                        Case{"diamonds", diamonds, kLong / 3}, Case{"guarded", guarded, kLong}}) {
    const Graph forward = c.build(c.length);
    Graph derived;
    std::string text;
    const auto timed = [&](const char* what, const std::function<void()>& step) {
      const double start = cpu_seconds();
      step();
      const double seconds = cpu_seconds() - start;
      std::cout << c.name << " " << what << " " << seconds << " s\n";
    };
    timed("vjp", [&] { derived = vjp(forward, {{0}, {0}}); });
    timed("verify", [&] { verify(derived); });
    timed("simplify", [&] { (void)simplify(derived); });
    timed("contract", [&] { (void)contract(derived); });
    timed("compact", [&] { (void)compact(derived); });
    timed("content_hash", [&] { (void)content_hash(derived); });
    timed("print", [&] { text = print(derived); });
    timed("parse", [&] { EXPECT_EQ(print(parse_graph(text)), text); });
  }
}

TEST(Linear, ManyContributionsKeepBodiesSmall) {
  const Graph g = vjp(chain(1000), {{0}, {0}});
  for (const Stage& stage : g.stages)
    EXPECT_LE(reachable(g.pool, stage.bodies).size(), 64u * 6) << print_stage(g, stage);
}

// Domain points of the stages that sum or copy contributions; helper stages of the forward are
// excluded by name.
int64_t points_of(const Graph& g, const std::string& prefix) {
  int64_t total = 0;
  for (const Stage& stage : g.stages)
    if (g.info(stage.results[0]).name.starts_with(prefix)) total += *count_points(stage.domain);
  return total;
}

// Points of the forward's domain whose guarded reads are all inside.
int64_t nonzero_points(const ConvSize& s) {
  int64_t along = 0;
  for (int64_t o = 0; o < s.out(); ++o)
    for (int64_t k = 0; k < s.kernel; ++k) {
      const int64_t at = o * s.stride + k * s.dilation - s.padding;
      along += at >= 0 && at < s.size;
    }
  return s.n * s.filters * (s.channels / s.groups) * along * along;
}

TEST(Trips, ConvolutionAdjointsVisitEachNonZeroTermOnce) {
  for (const ConvSize& s :
       {ConvSize{}, ConvSize{.size = 9, .stride = 2}, ConvSize{.size = 11, .dilation = 2},
        ConvSize{.size = 8, .stride = 2, .padding = 1},
        ConvSize{.channels = 4, .filters = 4, .groups = 2, .padding = 1},
        ConvSize{.size = 13, .stride = 4, .dilation = 2},
        ConvSize{.size = 10, .kernel = 2, .stride = 3}}) {
    Forward f;
    const Graph g = adjoint(conv2d(f, s));
    EXPECT_EQ(points_of(g, "d_x"), nonzero_points(s)) << print(g);
    EXPECT_EQ(points_of(g, "d_w"), nonzero_points(s)) << print(g);
  }
}

TEST(Trips, PoolingAdjointsVisitEachWindowElementOnce) {
  struct PoolSize {
    int64_t size, stride, kernel;
  };
  for (const PoolSize& s : {PoolSize{8, 2, 2}, {7, 2, 3}, {8, 3, 2}, {9, 1, 3}}) {
    const int64_t out = (s.size - s.kernel) / s.stride + 1;
    Forward f;
    const Graph g = adjoint(pool(f, CombinerKind::Max, Ties::First, s.size, s.stride, s.kernel));
    EXPECT_EQ(points_of(g, "d_x"), 2 * out * out * s.kernel * s.kernel) << print(g);
  }
}

TEST(Trips, ReshapesAreCopies) {
  EXPECT_EQ(points_of(adjoint(forward_named("flatten")), "d_x"), 24);
  EXPECT_EQ(points_of(adjoint(forward_named("reshape_incompatible")), "d_x"), 24);
}

}  // namespace
}  // namespace adjit::testing
