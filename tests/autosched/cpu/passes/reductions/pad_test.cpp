// tests/autosched/cpu/passes/reductions/pad_test.cpp -- which operands get zeros around them.
#include "autosched/cpu/passes/reductions/pad.hpp"

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layout.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(PadOperand, ImagesThatConditionsKeepInside) {
  const Graph graph = conv_graph(4, 16, 14, 14, 16, 1, true);
  Layout layout(graph);
  EXPECT_EQ(pad_operand(layout.context, 0), 1u) << "the copy stands before it";
  EXPECT_TRUE(has_move(layout.context.program, "pack"));
  EXPECT_TRUE(layout.context.stage(1).domain.is_box()) << "no condition is left";
}

TEST(PadOperand, NotWhereNothingIsOutside) {
  Layout layout(matmul_graph(64, 64, 64));
  EXPECT_EQ(pad_operand(layout.context, 0), 0u);
  EXPECT_EQ(layout.context.program.graph.stages.size(), 1u);
}

// Whether the default schedule copies an operand with zeros in place of the conditions on it.
bool pads(const Graph& graph, const std::string& operand) {
  const Program p = default_schedule(graph, kTwoCores);
  const std::string moves = p.moves_json;
  for (size_t at = moves.find("\"pack\""); at != std::string::npos;
       at = moves.find("\"pack\"", at + 1)) {
    const std::string move = moves.substr(at, moves.find('}', at) - at);
    if (move.find("\"operand\":\"" + operand + "\"") != std::string::npos &&
        move.find("\"instead_of_rows\":true") != std::string::npos)
      return true;
  }
  return false;
}

// The gradient of weights has its copies along channels: which pixels there are bounds the loops
// over them, and a copy of the image would be for nothing.
TEST(PadOperand, NotWhereConditionsBoundLoops) {
  const Graph graph = parse_graph(
      "def f(float(8, 128, 28, 28) d, float(8, 64, 56, 56) x) -> (w) {\n"
      "  w(i, j, k, l) +=! d(r_n, i, r_y, r_x) * x(r_n, j, r_y * 2 + k - 1, r_x * 2 + l - 1)\n"
      "  where i in 0:128, j in 0:64, k in 0:3, l in 0:3, r_n in 0:8, r_y in 0:28, r_x in 0:28, "
      "k + 2 * r_y >= 1, l + 2 * r_x >= 1\n}");
  EXPECT_FALSE(pads(graph, "x"));
}

// Its convolution has them along pixels.
TEST(PadOperand, WhereTilesWouldAskEachPoint) {
  const Graph graph = parse_graph(
      "def f(float(4, 64, 28, 28) x, float(64, 64, 3, 3) w) -> (y) {\n"
      "  y(n, i, j, k) +=! x(n, r_c, j + r_y - 1, k + r_x - 1) * w(i, r_c, r_y, r_x)\n"
      "  where n in 0:4, i in 0:64, j in 0:28, k in 0:28, r_c in 0:64, r_y in 0:3, r_x in 0:3, "
      "j + r_y >= 1, j + r_y <= 28, k + r_x >= 1, k + r_x <= 28\n}");
  EXPECT_TRUE(pads(graph, "x"));
}

// With the reference, where loops are bounded.
TEST(PadOperand, WhatIsLeftUnpaddedMeansTheSame) {
  const Graph graph = parse_graph(
      "def f(float(2, 8, 6, 6) d, float(2, 16, 12, 12) x) -> (w) {\n"
      "  w(i, j, k, l) +=! d(r_n, i, r_y, r_x) * x(r_n, j, r_y * 2 + k - 1, r_x * 2 + l - 1)\n"
      "  where i in 0:8, j in 0:16, k in 0:3, l in 0:3, r_n in 0:2, r_y in 0:6, r_x in 0:6, "
      "k + 2 * r_y >= 1, l + 2 * r_x >= 1\n}");
  expect_faithful(default_schedule(graph, kTwoCores), graph);
}

}  // namespace
}  // namespace adjit::sched
