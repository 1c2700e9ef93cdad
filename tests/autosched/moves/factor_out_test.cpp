// tests/autosched/moves/factor_out_test.cpp -- what an axis of a sum does not move, out of its
// terms.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph bins(const std::string& term, const std::string& where = "", int64_t offsets = 2) {
  return parse_graph("def f(float(16, 3) x, float(16) w, int64(16) n) -> (y) {\n  y(j, k) +=! " +
                     term + "\n    where j in 0:3, k in 0:4, r_i in 0:16, r_o in 0:" +
                     std::to_string(offsets) + where + "\n}");
}

const char* const kCounted =
    "select(n(r_i) % 3 + r_o == k, x(r_i, j) * select(r_o == 0, 1.0 - tanh(w(r_i)), tanh(w(r_i))), "
    "0.0)";

Program factored(const Graph& graph, size_t axis = 3) { return factor_out(plain(graph), 0, axis); }

TEST(FactorOut, MeansTheSame) {
  for (const char* term : {kCounted, "x(r_i, j) * (tanh(w(r_i)) + float(r_o))",
                           "-(x(r_i, j) * float(r_o + 2 + k)) / (w(r_i) + 3.0)",
                           "select(n(r_i) % 3 == k, x(r_i, j) * (sin(w(r_i)) + float(r_o)), 0.0)",
                           "select(n(r_i) % 3 + r_o == k, x(r_i, j), 0.0)"})
    for (const int64_t offsets : {1, 2, 3}) {
      const Graph graph = bins(term, "", offsets);
      const Program p = factored(graph);
      EXPECT_EQ(p.graph.stages[0].domain.extents, (std::vector<int64_t>{3, 4, 16})) << term;
      expect_faithful(p, graph);
    }
}

// Found by an attacker: sums of what was divided, or multiplied, first left the range.
TEST(FactorOut, NothingOverflowsThatDidNot) {
  const Graph graph = bins("x(r_i, j) * w(r_i) * (1.0 - float(r_o) / 2.0) * x(r_i, j)");
  std::vector<Array> inputs = some_inputs(graph);
  for (int64_t k = 0; k < inputs[0].element_count(); ++k) inputs[0].set(k, 1e30);
  for (int64_t k = 0; k < inputs[1].element_count(); ++k) inputs[1].set(k, 1e-30);
  expect_close(interpret(graph, inputs), interpret(factored(graph), inputs));
}

TEST(FactorOut, ConditionsOfOtherAxesStay) {
  const Graph graph = bins(kCounted, ", j <= r_i, r_i <= k + 9");
  const Program p = factored(graph);
  EXPECT_EQ(p.graph.stages[0].domain.inequalities.size(), 2u);
  expect_faithful(p, graph);
  // An axis in front moves those behind it up.
  const Graph first = parse_graph(
      "def f(float(16, 3) x, float(2, 3) w) -> (y) {\n"
      "  y(j) +=! x(r_i, j) * tanh(w(r_o, 1)) where j in 0:3, r_o in 0:2, r_i in 0:16, j <= "
      "r_i\n}");
  expect_faithful(factored(first, 1), first);
}

// Results that have no term of it do not know that a factor is no number.
TEST(FactorOut, WhatIsNoNumberStaysWithItsTerms) {
  const Graph graph = bins(kCounted);
  std::vector<Array> inputs = some_inputs(graph);
  inputs[0].set(3, std::numeric_limits<double>::quiet_NaN());
  inputs[0].set(8, std::numeric_limits<double>::infinity());
  expect_close(interpret(graph, inputs), interpret(factored(graph), inputs));
}

TEST(FactorOut, WhatHasNoCommonFactorIsRefused) {
  expect_refused([] { factored(bins("tanh(w(r_i)) + float(r_o)")); }, "depend on the axis");
  expect_refused([] { factored(bins(kCounted, ", r_o <= r_i")); }, "bound the axis");
  expect_refused([] { factored(bins(kCounted, "", 9)); }, "none or too many points");
  expect_refused([] { factored(bins(kCounted), 1); }, "no such axis");
  expect_refused([] { factored(bins("x(r_i, j) * (w(r_i) + float(r_o))")); },
                 "sums of it overflow");
}

}  // namespace
}  // namespace adjit::sched
