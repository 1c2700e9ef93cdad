// tests/autosched/analysis/kernel_calls_test.cpp -- which kernels a run calls, and how often.
#include "autosched/analysis/kernel_calls.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string text_of(const Program& program) {
  std::string text;
  for (const KernelCalls& k : kernel_calls(program)) {
    const Graph& graph = k.program->graph;
    text += stage_name(graph, graph.stages[k.program->kernels[k.kernel].root.stage]) + " " +
            std::to_string(k.calls) + (k.scan ? " in steps\n" : "\n");
  }
  return text;
}

Program of_steps(const std::string& steps, const std::string& trips) {
  return initial_program(parse_graph("def f(float(6) h, float(6, 6) W) -> (y) {\n"
                                     " x(i) = h(i) + 1.0\n"
                                     " scan (c) = step[" +
                                     trips +
                                     "](carry float(6) s = x, fixed float(6, 6) w = W)"
                                     " -> (n) {\n" +
                                     steps + " }\n y(i) = c(i) * 2.0\n}"),
                         CpuMachine{});
}

TEST(KernelCalls, StepsStandInPlaceAndWhatNoneChangesRunsOnce) {
  EXPECT_EQ(text_of(of_steps(" a(i) max=! w(i, r)\n n(i) = s(i) + a(i)\n", "4")),
            "x 1\na 1 in steps\nn 4 in steps\ny 1\n");
}

TEST(KernelCalls, ScansWithinScans) {
  const std::string inner =
      " scan (n) = inner[3](carry float(6) t = s, fixed float(6, 6) v = w) -> (m) {\n"
      " b(i) max=! v(i, r)\n m(i) = t(i) * b(i)\n }\n";
  EXPECT_EQ(text_of(of_steps(inner, "4")),
            "x 1\ns_start 4 in steps\nb 4 in steps\nm 12 in steps\ny 1\n");
}

TEST(KernelCalls, TooManyStayNumbers) {
  const std::string inner =
      " scan (n) = inner[4000000000000](carry float(6) t = s) -> (m) {\n m(i) = t(i) * 2.0\n }\n";
  EXPECT_EQ(
      text_of(of_steps(inner, "4000000000000")),
      "x 1\ns_start 4000000000000 in steps\nm " + std::to_string(INT64_MAX) + " in steps\ny 1\n");
}

}  // namespace
}  // namespace adjit::sched
