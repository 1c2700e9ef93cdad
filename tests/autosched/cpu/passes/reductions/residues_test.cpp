// tests/autosched/cpu/passes/reductions/residues_test.cpp -- which axes are split by residues.
#include "autosched/cpu/passes/reductions/residues.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/layout.hpp"

namespace adjit::sched {
namespace {

TEST(TakeResidues, GroupsShareTheirOperand) {
  const Graph graph = parse_graph(
      "def f(float(2, 16, 9, 9) x, float(12, 8, 3, 3) w) -> (y) { y(i, j, k, l) +=! x(i, r_c + j "
      "// 6 * 8, k + r_a, l + r_b) * w(j, r_c, r_a, r_b) where i in 0:2, j in 0:12, k in 0:7, l in "
      "0:7, r_c in 0:8, r_a in 0:3, r_b in 0:3 }");
  Layout layout(graph);
  EXPECT_TRUE(take_residues(layout.context, 0));
  EXPECT_TRUE(has_move(layout.context.program, "split_residues"));
  expect_faithful(layout.context.program, graph);
}

TEST(TakeResidues, NotWhereNothingDivides) {
  Layout layout(matmul_graph(64, 64, 64));
  EXPECT_FALSE(take_residues(layout.context, 0));
}

}  // namespace
}  // namespace adjit::sched
