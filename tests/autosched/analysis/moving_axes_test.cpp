// tests/autosched/analysis/moving_axes_test.cpp -- which axes of a stage a value in it changes
// with.
#include "autosched/analysis/moving_axes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {
namespace {

std::string axes_moving(const std::string& value) {
  const Graph graph =
      parse_graph("def f(float(64) x, int64(64) p) -> (y) {\n  y(i, j, k) = " + value +
                  " where i in 0:4, j in 0:3, k in 0:2\n}");
  const Stage& stage = graph.stages.front();
  std::string text;
  for (const bool moves : moving_axes(graph.pool, stage.bodies.front(), stage.domain))
    text += moves ? "1" : "0";
  return text;
}

TEST(MovingAxes, OfReadsAndValues) {
  EXPECT_EQ(axes_moving("x(i + k)"), "101");
  EXPECT_EQ(axes_moving("exp(x(0)) * x(j)"), "010");
  EXPECT_EQ(axes_moving("x(0) * float(k)"), "001");
  EXPECT_EQ(axes_moving("x(p(j) * 2)"), "010") << "data";
  EXPECT_EQ(axes_moving("x(i where 1 <= j)"), "110");
  EXPECT_EQ(axes_moving("x(i * j * j)"), "110") << "not affine";
}

TEST(MovingAxes, DivisionsThatCancelDoNotCount) {
  EXPECT_EQ(axes_moving("x((3 * i + j) // 3)"), "100");
  EXPECT_EQ(axes_moving("x((3 * i + j) % 3)"), "010");
  EXPECT_EQ(axes_moving("x(i + 1 where (3 * k + j) // 3 < 1)"), "101");
  EXPECT_EQ(axes_moving("x((3 * i + j) // 2)"), "110");
}

}  // namespace
}  // namespace adjit::sched
