// tests/runtime/diff/simplify/one_hot_test.cpp -- sums over an axis that data fixes become gathers,
// with the same values for indices in and out of range, and with scatters for gradients.
#include "runtime/diff/simplify/one_hot.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

struct AxisCase {
  const char* name;
  const char* text;     // one output y; integer inputs are indices
  int64_t points;       // of all stages of the simplified forward
  bool scatter = true;  // whether the gradient has a scatter
};

// Indices from -2 to 7: some are out of range for the axes of 5 and 6 points below.
std::vector<Array> inputs_of(const Graph& graph, uint32_t seed) {
  std::vector<Array> inputs = random_inputs(graph, seed);
  for (Array& input : inputs)
    for (int64_t k = 0; !is_float(input.dtype) && k < input.element_count(); ++k)
      input.set(k, static_cast<double>((k * 5 + seed * 3) % 10 - 2));
  return inputs;
}

class FixedAxes : public ::testing::TestWithParam<AxisCase> {};

TEST_P(FixedAxes, BecomeGathersAndScatters) {
  const Graph forward = parse_graph(GetParam().text);
  const Graph simple = simplify(forward);
  verify(simple);
  EXPECT_EQ(points(simple), GetParam().points) << print(simple);
  EXPECT_EQ(print(simplify(simple)), print(simple)) << "a fixed point";
  const Graph adjoint = vjp(forward, {float_inputs(forward), {0}});
  EXPECT_EQ(print(adjoint).find("scatter") != std::string::npos, GetParam().scatter)
      << print(adjoint);
  for (uint32_t seed : {1u, 2u, 3u}) {
    const std::vector<Array> inputs = inputs_of(forward, seed);
    const Array wanted = interpret(forward, inputs)[0], got = interpret(simple, inputs)[0];
    for (int64_t e = 0; e < wanted.element_count(); ++e)
      EXPECT_NEAR(got.at(e), wanted.at(e), 1e-13) << print(simple);
    EXPECT_TRUE(check_gradients(forward, inputs, 2));
  }
}

constexpr AxisCase kAxisCases[] = {
    {"select", R"(def f(double(5, 3) w, int64(4) n) -> (y) {
       y(i, j) +=! select(k == n(i), w(k, j), 0.0) where i in 0:4, j in 0:3, k in 0:5 })",
     12},
    {"negated", R"(def f(double(5) w, int64(4) n) -> (y) {
       y(i) +=! select(k != n(i), 0.0, w(k)) where i in 0:4, k in 0:5 })",
     4},
    {"product", R"(def f(double(5, 3) w, double(4) v, int64(4) n) -> (y) {
       y(i, j) +=! v(i) * double(n(i) == k) * w(k, j) / v(i) where i in 0:4, j in 0:3, k in 0:5 })",
     12},
    {"stage", R"(def f(double(5, 3) w, int64(4) n) -> (y) {
       h(i, k) = int64(n(i) == k) where i in 0:4, k in 0:5
       g(i, k) = double(h(i, k)) where i in 0:4, k in 0:5
       y(i, j) +=! g(i, k) * w(k, j) where i in 0:4, j in 0:3, k in 0:5 })",
     12},
    {"counted", R"(def f(double(5, 3) w, int64(4) n) -> (y) {
       a(k) = k where k in 0:5
       h(i, k) = double(select(n(i) == a(k), 1.0, 0.0)) where i in 0:4, k in 0:5
       y(i, j) +=! h(i, k) * w(k, j) where i in 0:4, j in 0:3, k in 0:5 })",
     12},
    {"shifted", R"(def f(double(5) w, int64(4) n) -> (y) {
       y(i) +=! select(n(i) == 2 * i - k, w(k), 0.0) where i in 0:4, k in 0:5 })",
     4},
    {"rows", R"(def f(double(5) w, int64(4) n) -> (y) {
       y(i) +=! select(k == n(i), w(k), 0.0) where i in 0:4, k in 0:5, k <= i, q = k // 2, q >= 1 })",
     4},
    {"another_reduction", R"(def f(double(5) w, double(6) v, int64(6) n) -> (y) {
       y(i) +=! double(k == n(r)) * w(k) * v(r) * w(i) where i in 0:5, k in 0:5, r in 0:6 })",
     5 * 6},
    {"two_axes", R"(def f(double(5, 6) w, int64(4) n, int64(4) m) -> (y) {
       y(i) +=! select(k == n(i) && l == m(i), w(k, l), 0.0) where i in 0:4, k in 0:5, l in 0:6 })",
     4},
    {"index_of_an_index", R"(def f(double(5) w, int64(4) n, int64(6) m) -> (y) {
       y(i) +=! select(0 <= n(i) && n(i) < 6, select(k == m(n(i)), w(k), 0.0), 0.0)
         where i in 0:4, k in 0:5 })",
     4},
    {"one_by_another", R"(def f(double(5, 6) w, int64(4) n, int64(5) m) -> (y) {
       y(i) +=! select(k == n(i) && l == m(k), w(k, l), 0.0) where i in 0:4, k in 0:5, l in 0:6 })",
     4},
    {"read_where_the_axis_is", R"(def f(double(5) w, int64(3) n) -> (y) {
       y(i) +=! select(k == n(i - 1), w(k), 0.0) where i in 0:4, k in 0:3, k <= i - 1 })",
     3},
    {"read_where_a_quotient_is", R"(def f(double(9) w, int64(3) n) -> (y) {
       y(i) +=! select(k == n(i - 1), w(k), 0.0)
         where i in 0:4, k in 0:9, q = k // 3, 3 * q == k, q <= i - 1, 2 * q <= 5 * i - 4 })",
     3},
    {"reached_where_the_axis_is", R"(def f(double(5) w, int64(3) n, int64(4) m) -> (y) {
       y(i) +=! select(n(i - 1) < 4 && k == m(i), w(k), 0.0) where i in 0:4, k in 0:3, k <= i - 1 })",
     3},
    {"body_where_the_axis_is", R"(def f(double(5) w, double(3) v, int64(4) n) -> (y) {
       y(i) +=! select(k == n(i), w(k) * v(i - 1), 0.0) where i in 0:4, k in 0:3, k <= i - 1 })",
     4},
    {"not_by_itself", R"(def f(double(5) w, int64(5) n) -> (y) {
       y(i) +=! select(k == n(k), w(k) * w(i), 0.0) where i in 0:5, k in 0:5 })",
     5 * 5, false},
};

INSTANTIATE_TEST_SUITE_P(Forms, FixedAxes, ::testing::ValuesIn(kAxisCases),
                         [](const auto& info) { return std::string(info.param.name); });

// An infinite element that no index names is no NaN.
TEST(FixedAxis, ZeroTimesInfinityIsNotComputed) {
  const Graph forward = parse_graph(R"(def f(double(3) w, int64(2) n) -> (y) {
    y(i) +=! double(k == n(i)) * w(k) where i in 0:2, k in 0:3 })");
  std::vector<Array> inputs = inputs_of(forward, 1);
  inputs[0].set(0, INFINITY);
  inputs[1].set(0, 1);
  inputs[1].set(1, 9);
  const Array y = interpret(simplify(forward), inputs)[0];
  EXPECT_EQ(y.at(0), inputs[0].at(1));
  EXPECT_EQ(y.at(1), 0);
}

}  // namespace
}  // namespace adjit::testing
