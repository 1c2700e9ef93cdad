// tests/runtime/diff/rules/prefix_chain_test.cpp -- derivatives of prefix reductions: right, and
// linear.
#include "runtime/diff/rules/prefix_chain.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// Steps that all stages take together when prefix reductions run on.
int64_t steps(const Graph& graph) {
  int64_t total = 0;
  for (const Stage& stage : graph.stages) {
    Domain domain = stage.domain;
    if (prefix_reduction(graph.pool, stage)) domain = shape_box(graph.info(stage.results[0]).shape);
    total += stage.kind == StageKind::Scan ? stage.scan->trips * steps(*stage.scan->body)
                                           : *count_points(domain);
  }
  return total;
}

struct Case {
  const char* name;
  const char* statement;  // y(b, i, c) of x(b, r, c)
  const char* combiner = "";
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class PrefixChains : public ::testing::TestWithParam<std::tuple<Case, const char*>> {
 protected:
  static Graph graph(int64_t n) {
    const std::string size = std::to_string(n);
    return parse_graph("def f(double(2, " + size + ", 3) x) -> (y) {\n  " +
                       std::get<0>(GetParam()).statement + " where b in 0:2, i in 0:" + size +
                       ", c in 0:3, r in 0:" + size + ", " + std::get<1>(GetParam()) + "\n" +
                       std::get<0>(GetParam()).combiner + "\n}");
  }
};

TEST_P(PrefixChains, AgreeWithDifferences) {
  const Graph f = graph(9);
  ASSERT_TRUE(prefix_reduction(f.pool, f.stages[0]));
  EXPECT_TRUE(check_gradients(f));
  std::vector<Array> zeros = random_inputs(f);
  for (int64_t k : {4, 7, 16, 40}) zeros[0].set(k, 0);
  EXPECT_TRUE(check_gradients(f, zeros));
}

// Twice the links are twice the steps, in the gradient, in its gradient and in the tangent.
TEST_P(PrefixChains, AreLinear) {
  const auto growth = [&](const std::function<Graph(const Graph&)>& derive) {
    const int64_t once = steps(linear_scans_as_prefixes(derive(graph(64))));
    return static_cast<double>(steps(linear_scans_as_prefixes(derive(graph(128))))) /
           static_cast<double>(once);
  };
  const auto gradient_of = [](const Graph& f) { return vjp(f, {{0}, {0}}); };
  EXPECT_LE(growth(gradient_of), 2.01);
  EXPECT_LE(growth([&](const Graph& f) { return vjp(gradient_of(f), {{0, 1}, {0}}); }), 2.01);
  EXPECT_LE(growth([](const Graph& f) { return jvp(f, {{0}}); }), 2.01);
}

INSTANTIATE_TEST_SUITE_P(
    Combiners, PrefixChains,
    ::testing::Combine(
        ::testing::Values(
            Case{"product", "y(b, i, c) *=! sin(x(b, r, c)) + x(b, r, c)"},
            Case{"plain_product", "y(b, i, c) *=! x(b, r, c)"},
            Case{"filter", "(p, y)(b, i, c) custom=! (x(b, r, c), cos(x(b, r, c)))",
                 "combine (p1, y1), (p2, y2) -> (p1 * p2, y1 * p2 + y2)\n  identity (1.0, 0.0)"},
            Case{"largest_and_sum",
                 "(m, y)(b, i, c) custom=! (x(b, r, c), x(b, r, c) * x(b, r, c))",
                 "combine (m0, s0), (m1, s1) -> let top = max(m0, m1); "
                 "(top, s0 * exp(m0 - top) + s1 * exp(m1 - top))\n  identity (-inf, 0.0)"}),
        ::testing::Values("r <= i", "r < i", "r >= i", "r > i")));

}  // namespace
}  // namespace adjit::testing
