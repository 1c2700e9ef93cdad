// tests/autosched/gpu/factor_sums_test.cpp -- which sums have their factors taken out.
#include "autosched/gpu/factor_sums.hpp"

#include <string>

#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// How many axes are left of two results' and of the reduction's.
size_t axes_left(const std::string& term, int64_t offsets = 2) {
  const auto graph = [&](const std::string& points) {
    return parse_graph("def f(float(" + points + ", 32) x, float(" + points +
                       ", 32) w) -> (y) {\n  y(j, k) +=! " + term +
                       " where j in 0:32, k in 0:32, r_i in 0:" + points +
                       ", r_o in 0:" + std::to_string(offsets) + "\n}");
  };
  const Program p = factor_sums(initial_program(graph("65536"), kGpu), kGpu);
  const Graph small = graph("4");
  expect_faithful(factor_sums(initial_program(small, kGpu), kGpu), small);
  return p.graph.stages[0].domain.rank();
}

TEST(FactorSums, AreThoseOfResultsAlongWhichTheRestIsTheSame) {
  EXPECT_EQ(axes_left("x(r_i, j) * (tanh(w(r_i, k)) + float(r_o))"), 3u);
  EXPECT_EQ(axes_left("x(r_i, j) * (tanh(w(r_i, j)) + float(r_o * k))"), 4u)
      << "each result has a factor of its own";
  EXPECT_EQ(axes_left("x(r_i, j) * (tanh(w(r_i, k)) + float(r_o))", 3), 4u) << "it is long";
}

// Each pixel adds to two of eight depths of its cell, in all of twelve channels: 96 additions of a
// pixel, not 192.
TEST(FactorSums, PixelsOfAGridAddOnceToADepth) {
  const Graph graph = parse_graph(R"(
def f(float(4, 12, 1024, 1024) x, float(4, 1024, 1024) d) -> (g) {
  scatter float(4, 12, 8, 34, 34) g(b, c, max(min(o + int64(floor(d(b, i, j))), 7), 0), m + (i + 16) // 32, n + (j + 16) // 32) +=!
      x(b, c, i, j) * select(m == 0, 0.25, 0.75) * select(n == 0, 0.25, 0.75) * select(o == 0, 1.0 - (d(b, i, j) - floor(d(b, i, j))), d(b, i, j) - floor(d(b, i, j)))
    where b in 0:4, c in 0:12, i in 0:1024, j in 0:1024, m in 0:2, n in 0:2, o in 0:2
})");
  const Program p = default_schedule(graph, kGpu);
  EXPECT_TRUE(has_move(p, "scatter_to_gather"));
  EXPECT_TRUE(has_move(p, "factor_out"));
  int64_t results = 1;  // of a thread: all channels and depths have a pixel's weights in common
  for (const Loop& loop : nest_of(p, stage_of(p, "g")).loops)
    if (in_tile(loop) && loop.axis < 5) results *= loop.trips;
  EXPECT_EQ(results, 96);
}

// Each axis makes a body twice as long: found by an attacker with twelve.
TEST(FactorSums, BodiesStayShort) {
  std::string index, domain;
  for (int k = 0; k < 12; ++k) {
    index += ", r_" + std::to_string(k);
    domain += ", r_" + std::to_string(k) + " in 0:2";
  }
  std::string shape = "5";
  for (int k = 0; k < 12; ++k) shape += ", 2";
  const Graph graph = parse_graph("def f(float(" + shape +
                                  ") x, float(7) a) -> (y) {\n  y(k, j) +=! "
                                  "a(j) * tanh(x(k" +
                                  index + ")) where k in 0:5, j in 0:7" + domain + "\n}");
  const Program p = factor_sums(initial_program(graph, kGpu), kGpu);
  EXPECT_LT(reachable(p.graph.pool, p.graph.stages[0].bodies).size(), 2000u);
}

TEST(FactorSums, OfEmptyAxesAreLeft) {
  for (const char* j : {"0", "1"}) {
    const std::string n = j;
    const Graph graph =
        parse_graph("def f(float(16, " + n +
                    ") x, float(16, 4) w) -> (y) {\n"
                    "  y(j, k) +=! x(r_i, j) * (tanh(w(r_i, k)) + float(r_o)) where j in 0:" +
                    n + ", k in 0:4, r_i in 0:16, r_o in 0:2\n}");
    const Program p = factor_sums(initial_program(graph, kGpu), kGpu);
    EXPECT_FALSE(has_move(p, "factor_out")) << "no results have anything in common";
    expect_faithful(p, graph);
  }
}

}  // namespace
}  // namespace adjit::sched
