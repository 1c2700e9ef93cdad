// tests/runtime/diff/simplify/loops/linear_scans_test.cpp -- filters and decaying sums as prefix
// reductions.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

size_t scans_in(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count(graph.stages, StageKind::Scan, &Stage::kind));
}

// The graph after the pass, once it has been found to mean the same.
Graph rewritten(const Graph& before) {
  verify(before);
  const Graph after = linear_scans_as_prefixes(before);
  verify(after);
  const std::vector<Array> inputs = random_inputs(before, 8);
  const std::vector<Array> expected = interpret(before, inputs), got = interpret(after, inputs);
  for (size_t k = 0; k < expected.size(); ++k)
    for (int64_t e = 0; e < expected[k].element_count(); ++e)
      EXPECT_NEAR(got[k].at(e), expected[k].at(e), 1e-9 * (1 + std::abs(expected[k].at(e))))
          << print(after);
  return after;
}

// 12 steps over x (3) with fixed a, b (3) and s: the carries and the body are given.
Graph loop(const std::string& carries, const std::string& body, const std::string& outputs,
           const std::string& results, const std::string& more = "") {
  return parse_graph(
      "def main(double(3) h0, double(3) g0, double(12, 3) X, double(3) A, double(3) B, "
      "double S) -> (" +
      results + ") {\n  scan (" + results + ") = step[12" + more + "](" + carries +
      ", over double(3) x = X, fixed double(3) a = A, fixed double(3) b = B, fixed "
      "double s = S) -> (" +
      outputs + ") {\n" + body + "  }\n}");
}

constexpr const char* kOne = "carry double(3) c = h0";
constexpr const char* kTwo = "carry double(3) c = h0, carry double(3) d = g0";

TEST(LinearScans, AFilterIsAPrefixReduction) {
  for (const char* more : {"", ", reverse"}) {
    const Graph graph = rewritten(loop(kOne,
                                       "    u(i) = a(i) * c(i)\n"
                                       "    y(i) = u(i) * s() + (b(i) * x(i) - c(i)) / 2.0\n",
                                       "y, y", "last, ys", more));
    EXPECT_EQ(scans_in(graph), 0u) << print(graph);
  }
}

// A step that only multiplies is a running product; so is the sign of a zero kept.
TEST(LinearScans, AGeometricCarryIsAProduct) {
  for (const char* more : {"", ", reverse"}) {
    const Graph graph = rewritten(loop(kOne, "    y(i) = c(i) * x(i)\n", "y, y", "last, ys", more));
    EXPECT_EQ(scans_in(graph), 0u) << print(graph);
    EXPECT_EQ(std::ranges::count_if(
                  graph.stages,
                  [](const Stage& stage) { return stage.combiner.kind == CombinerKind::Product; }),
              1)
        << print(graph);
  }
}

TEST(LinearScans, WhatReadsTheCarryFollows) {
  for (const char* more : {"", ", reverse"}) {
    const Graph graph = rewritten(loop(kOne,
                                       "    y(i) = select(x(i) < 0.5, c(i) * 0.5, c(i) + x(i))\n"
                                       "    z(i) = sin(c(i)) * y(i)\n"
                                       "    n() +=! z(i)\n",
                                       "y, z, n", "last, zs, ns", more));
    EXPECT_EQ(scans_in(graph), 0u) << print(graph);
  }
}

TEST(LinearScans, OneCarryAfterAnother) {
  // The second adds up what the first gives: linear once the first is known.
  const Graph graph = rewritten(loop(kTwo,
                                     "    y(i) = a(i) * c(i) + x(i)\n"
                                     "    w(i) = d(i) + sin(y(i)) * c(i)\n",
                                     "y, w", "last, sum"));
  EXPECT_EQ(scans_in(graph), 0u) << print(graph);
}

TEST(LinearScans, OtherCarriesStay) {
  const Graph graph = rewritten(loop(kTwo,
                                     "    y(i) = a(i) * c(i) + x(i)\n"
                                     "    w(i) = tanh(d(i) + y(i))\n",
                                     "y, w, w", "last, state, ws"));
  EXPECT_EQ(scans_in(graph), 1u);
  const auto scan = std::ranges::find(graph.stages, StageKind::Scan, &Stage::kind);
  EXPECT_EQ(scan->scan->carries, 1u);
}

TEST(LinearScans, WhatIsNotLinearStays) {
  for (const char* body :
       {"    y(i) = tanh(c(i)) + x(i)\n", "    y(i) = c(i) * c(i)\n", "    y(i) = x(i) / c(i)\n",
        "    y(i) = select(c(i) < 0.5, c(i), x(i))\n", "    y(i) = c(2 - i) * a(i)\n",
        "    y(i) +=! c(k) * a(i) where i in 0:3, k in 0:3\n"}) {
    EXPECT_EQ(scans_in(rewritten(loop(kOne, body, "y", "last"))), 1u) << body;
  }
  EXPECT_EQ(scans_in(rewritten(loop(kTwo, "    y(i) = c(i) + d(i)\n    w(i) = c(i) - d(i)\n",
                                    "y, w", "last, other"))),
            1u)
      << "two carries in each other";
}

// A reset forgets the carry, whatever it is: written as slope 0 it would make NaN of infinity.
TEST(LinearScans, ResetsStayLoops) {
  const Graph graph =
      loop(kOne, "    y(i) = select(x(i) < 0.5, x(i), c(i) * a(i))\n", "y, y", "last, ys");
  EXPECT_EQ(scans_in(rewritten(graph)), 1u);
}

TEST(LinearScans, InfiniteCoefficientsStayInfinite) {
  for (const char* more : {"", ", reverse"}) {
    const Graph before = loop(kOne, "    y(i) = a(i) * c(i) + b(i)\n", "y, y", "last, ys", more);
    const Graph after = rewritten(before);
    EXPECT_EQ(scans_in(after), 0u);
    std::vector<Array> inputs = random_inputs(before, 3);
    for (int64_t i = 0; i < 3; ++i) inputs[0].set(i, 1.5);
    for (int64_t i = 0; i < 3; ++i) inputs[3].set(i, std::numeric_limits<double>::infinity());
    const std::vector<Array> expected = interpret(before, inputs), got = interpret(after, inputs);
    for (size_t k = 0; k < expected.size(); ++k)
      for (int64_t e = 0; e < expected[k].element_count(); ++e)
        EXPECT_EQ(got[k].at(e), expected[k].at(e));
  }
}

TEST(LinearScans, SoAreTheirDerivatives) {
  const Graph forward =
      loop(kOne, "    y(i) = a(i) * c(i) + b(i) * x(i) * s()\n", "y, y", "last, ys");
  ReverseOptions options;
  options.wrt = float_inputs(forward);
  options.outputs = {0, 1};
  const Graph gradient = simplify(expand_calls(vjp(forward, options)));
  EXPECT_GE(scans_in(gradient), 1u);
  EXPECT_EQ(scans_in(rewritten(gradient)), 0u);
}

}  // namespace
}  // namespace adjit::testing
