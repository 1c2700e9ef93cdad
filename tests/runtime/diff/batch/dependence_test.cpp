// tests/runtime/diff/batch/dependence_test.cpp -- which tensors get the batch's axis.
#include "runtime/diff/batch/dependence.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::vector<char> outputs_of(const char* source, std::vector<char> inputs) {
  return batched_outputs(parse_graph(source), inputs);
}

using Flags = std::vector<char>;

TEST(BatchDependence, FollowsIntegersAndStopsToo) {
  constexpr const char* kSource = R"(def f(float(4) x, float(4) z, int64(4) n) -> (a, b, c, d) {
    a(i) =[stop_gradient] x(i) * 2
    b(i) = int64(a(i))
    c(i) = z(n(i))
    d(i) = z(i)
  })";
  EXPECT_EQ(outputs_of(kSource, {1, 0, 0}), (Flags{1, 1, 0, 0}));
  EXPECT_EQ(outputs_of(kSource, {0, 0, 1}), (Flags{0, 0, 1, 0}));
  EXPECT_EQ(outputs_of(kSource, {0, 0, 0}), (Flags{0, 0, 0, 0}));
}

// a takes b's value, b takes c's, c takes x's: three steps until all depend on x.
constexpr const char* kCarryChain =
    R"(def f(float a0, float b0, float c0, float(9) x) -> (a, b, c, ys) {
  scan (a, b, c, ys) = step[9](carry float p = a0, carry float q = b0, carry float r = c0, over float v = x) -> (s, t, u, p) {
    s() = q() * 2
    t() = r() * 2
    u() = v() * 2
  }
})";

TEST(BatchDependence, CarriesDependWhereAnyStepMakesThem) {
  EXPECT_EQ(outputs_of(kCarryChain, {0, 0, 0, 1}), (Flags{1, 1, 1, 1}));
  EXPECT_EQ(outputs_of(kCarryChain, {1, 0, 0, 0}), (Flags{1, 0, 0, 1}));
  EXPECT_EQ(outputs_of(kCarryChain, {0, 1, 0, 0}), (Flags{1, 1, 0, 1}));
  const Graph graph = parse_graph(kCarryChain);
  Flags tensors(graph.tensors.size(), 0);
  tensors[graph.inputs[1].value] = 1;
  EXPECT_EQ(batched_step_inputs(graph.stages.back(), tensors), (Flags{1, 1, 0, 0}));
}

TEST(BatchDependence, DifferentNumbersOfStepsMakeEveryCarryDiffer) {
  constexpr const char* kLoop = R"(def f(float a0, float b0, float limit, bool g0) -> (a, b, g) {
    scan (a, b, g) = step[while](carry float p = a0, carry float q = b0, carry bool m = g0, fixed float l = limit) -> (s, t, more) {
      s() = p() * 2
      t() = q() + 1
      more() = s() < l()
    }
  })";
  EXPECT_EQ(outputs_of(kLoop, {0, 1, 0, 0}), (Flags{0, 1, 0})) << "all elements stop together";
  EXPECT_EQ(outputs_of(kLoop, {0, 0, 1, 0}), (Flags{1, 1, 1}));
  EXPECT_EQ(outputs_of(kLoop, {1, 0, 0, 0}), (Flags{1, 1, 1}));
}

TEST(BatchDependence, CallsDependAsTheirBodiesDoAndGradientsByHandAsAWhole) {
  constexpr const char* kCalls = R"(def f(float(4) x, float(4) z) -> (b, c, y) {
    call (b, c) = block[recompute](float(4) p = x, float(4) q = z) -> (u, v) {
      u(i) = p(i) * 2
      v(i) = q(i) * 2
    }
    call (y) = clipped[custom](float(4) p = x, float(4) q = z) -> (u) {
      u(i) = p(i) * 2
    } forward (float(4) p, float(4) q) -> (u) {
      u(i) = p(i) * 2
    } backward (float(4) d) -> (e, g) {
      e(i) = d(i)
      g(i) = d(i) * 0
    }
  })";
  EXPECT_EQ(outputs_of(kCalls, {1, 0}), (Flags{1, 0, 1}));
  EXPECT_EQ(outputs_of(kCalls, {0, 1}), (Flags{0, 1, 1}));
}

}  // namespace
}  // namespace adjit::testing
