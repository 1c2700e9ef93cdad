// tests/autosched/moves/zero_factors_test.cpp -- bounds that conditions prove, and tensors without
// infinite places.
#include "autosched/moves/zero_factors.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {
namespace {

TEST(ZeroFactors, ConditionsProveEachSideByItself) {
  ExprPool pool;
  Domain domain;
  domain.extents = {8};
  const ExprId before = pool.add(pool.axis(0), pool.constant_int(-1));
  EXPECT_EQ(proven_sides(pool, domain, before, 8), (std::array{false, true}));
  EXPECT_EQ(proven_sides(pool, domain, before, 6), (std::array{false, false}));
  domain.inequalities = {Affine::variable(0, 1, -1)};
  EXPECT_EQ(proven_sides(pool, domain, before, 8), (std::array{true, true}));
  const ExprId square = pool.mul(pool.axis(0), pool.axis(0));
  EXPECT_EQ(proven_sides(pool, domain, square, 64), (std::array{false, false})) << "not affine";
}

TEST(ZeroFactors, AMaximumOfNothingIsInfinite) {
  const Graph graph = parse_graph(
      "def f(float(6, 6) x) -> (a, b, c, d) {\n"
      "  a(i) max=! x(i, k)\n"
      "  b(i) max=! x(i, k) where i in 0:6, k in 0:6, k + 1 <= i\n"
      "  c(i) +=! x(i, k) where i in 0:6, k in 0:6, k + 1 <= i\n"
      "  d(i) = x(i, 0) where i in 0:6, i >= 2\n}");
  const auto have = [&](TensorId id) { return have_values(graph, std::vector{id}); };
  EXPECT_TRUE(have(graph.inputs[0]));
  EXPECT_TRUE(have(graph.outputs[0]));
  EXPECT_FALSE(have(graph.outputs[1]));
  EXPECT_TRUE(have(graph.outputs[2]));
  EXPECT_TRUE(have(graph.outputs[3]));
  EXPECT_FALSE(have_values(graph, graph.outputs));
}

// Zeros around an image may stand for its conditions, and not for those of a user.
TEST(ZeroFactors, RowsFollowFromReadsOrSayMore) {
  const auto follow = [](const std::string& more) {
    const Graph graph = parse_graph(
        "def f(float(6, 6) x, float(3) w) -> (y) {\n  y(i, j) +=! x(i, j + k - 1) * w(k)\n"
        "    where i in 0:6, j in 0:6, k in 0:3, j + k >= 1, j + k <= 6" +
        more + "\n}");
    return rows_follow_from_reads(graph, graph.stages.front());
  };
  EXPECT_TRUE(follow(""));
  EXPECT_FALSE(follow(", k <= i"));
  EXPECT_FALSE(follow(", i == j"));
}

}  // namespace
}  // namespace adjit::sched
