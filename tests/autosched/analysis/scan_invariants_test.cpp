// Which kernels of a scan's steps run once.
#include "autosched/analysis/scan_invariants.hpp"

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Per stage of the body of the text's last stage, a scan.
std::vector<bool> invariant(const std::string& steps, const std::string& outputs) {
  const Graph graph = parse_graph(
      "def f(float(6) h, float(4, 6) x, float(6, 6) W) -> (c, ys) {\n"
      " scan (c, ys) = step[4](carry float(6) s = h, over float(6) v = x, fixed float(6, 6) w = W)"
      " -> (" +
      outputs + ") {\n" + steps + " }\n}");
  const Program program = initial_program(graph, CpuMachine{2, 512});
  return invariant_kernels(*program.kernels.back().steps,
                           *program.graph.stages[program.kernels.back().root.stage].scan);
}

TEST(StepInvariants, WhatReadsOnlyFixedOperands) {
  EXPECT_EQ(invariant(" a(i, j) = w(j, i) * 2.0\n b(i) max=! a(i, r)\n d(i) = b(i) * v(i)\n"
                      " n(i) = s(i) + d(i)\n",
                      "n, n"),
            (std::vector<bool>{true, true, false, false, false}))
      << "the last one copies an output that is there twice";
}

TEST(StepInvariants, ResultsAreMadeInEveryStep) {
  EXPECT_EQ(invariant(" a(i) max=! w(i, r)\n n(i) = s(i) + a(i)\n", "n, a"),
            (std::vector<bool>{false, false}));
}

TEST(StepInvariants, WhatAScatterGoesOnInIsMadeInEveryStep) {
  const std::vector<bool> found = invariant(
      " z(i) max=! w(i, r)\n a(i) = z(i)\n"
      " scatter float(6) t(5 - i) +=! v(i) from a where i in 0:6\n n(i) = s(i) + t(i)\n",
      "n, n");
  ASSERT_GE(found.size(), 4u);
  EXPECT_TRUE(found[0]);
  EXPECT_FALSE(found[1]) << "what it starts from";
}

// What a step leaves in another shape lies where its result does, which is elsewhere in the next.
TEST(StepInvariants, WhatLiesInPlaceOfAResultIsMadeInEveryStep) {
  const Graph graph = parse_graph(
      "def f(float(6) h, float(6, 6) W) -> (c, ys) {\n"
      " scan (c, ys) = step[4](carry float(6) s = h, fixed float(6, 6) w = W) -> (n, b) {"
      " a(i) max=! w(i, r)\n b(i, j) = a(3 * i + j) where i in 0:2, j in 0:3\n"
      " n(i) = s(i) + a(i)\n }\n}");
  const Program program = initial_program(graph, CpuMachine{2, 512});
  const Kernel& scan = program.kernels.back();
  const Scan& of = *program.graph.stages[scan.root.stage].scan;
  const size_t b = stage_of(*scan.steps, "b");
  EXPECT_TRUE(invariant_kernels(*scan.steps, of).front());
  EXPECT_FALSE(invariant_kernels(alias_reshape(*scan.steps, b), of).front());
}

// A step multiplies two rows by W transposed.
Program product(int64_t steps) {
  const std::string t = std::to_string(steps);
  return default_schedule(
      parse_graph("def f(float(2, 64) h, float(" + t +
                  ", 2, 64) x, float(64, 64) W) -> (c, ys) {\n" + " scan (c, ys) = step[" + t +
                  "](carry float(2, 64) s = h, over float(2, 64) v = x, fixed float(64, 64) w = W) "
                  "-> (n, n) {\n  p(i, j) +=! s(i, k) * w(j, k)\n"
                  "  n(i, j) = tanh(p(i, j) + v(i, j))\n }\n}"),
      kTwoCores);
}

// Two reads an element do not pay for a copy, a hundred do.
TEST(StepInvariants, FixedOperandsArePackedOnceForManySteps) {
  const Program many = product(50);
  const Kernel& scan = many.kernels.back();
  const std::vector<bool> once =
      invariant_kernels(*scan.steps, *many.graph.stages[scan.root.stage].scan);
  EXPECT_EQ(std::ranges::count(once, true), 1) << print(many);
  EXPECT_NE(print(many).find("w_packed"), std::string::npos) << print(many);
  EXPECT_EQ(print(product(3)).find("w_packed"), std::string::npos) << print(product(3));
}

}  // namespace
}  // namespace adjit::sched
