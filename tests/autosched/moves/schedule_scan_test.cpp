// tests/autosched/moves/schedule_scan_test.cpp -- a scan's steps get a schedule of their own.
#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph scan_graph() {
  return parse_graph(R"(def f(float(8) a, float(5, 8) x) -> (c) {
    b(i) = a(i) * 2
    scan (c) = step[5](carry float(8) s = b, over float(8) v = x) -> (t) {
      u(i) = exp(v(i))
      t(i) = s(i) + u(i)
    }
  })");
}

size_t scan_in(const Program& program) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (program.graph.stages[s].kind == StageKind::Scan) return s;
  return SIZE_MAX;
}

Program step_program(const Program& program) {
  return initial_program(*program.graph.stages[scan_in(program)].scan->body, program.target);
}

TEST(ScheduleSteps, TheKernelRunsWhatItIsGiven) {
  const Graph graph = scan_graph();
  const Program p = initial_program(graph, CpuMachine{2, 512});
  const size_t scan = scan_in(p);
  Program steps = step_program(p);
  ASSERT_EQ(steps.graph.stages.size(), 2u);
  const size_t inlined[] = {0};
  steps = inline_stages(std::move(steps), inlined);
  const Program scheduled = schedule_scan(p, scan, steps);
  const auto of_scan = [&](const Kernel& k) { return k.root.stage == scan; };
  const auto kernel = std::ranges::find_if(scheduled.kernels, of_scan);
  ASSERT_NE(kernel, scheduled.kernels.end());
  ASSERT_TRUE(kernel->steps);
  EXPECT_EQ(kernel->steps->kernels.size(), 1u);
  EXPECT_NE(scheduled.moves_json.find("schedule_scan"), std::string::npos);
  const Program again = replay(graph, scheduled.moves_json, CpuMachine{2, 512});
  EXPECT_EQ(print(again), print(scheduled));
  EXPECT_EQ(again.moves_json, scheduled.moves_json);
}

TEST(ScheduleSteps, IsRefusedForOtherStages) {
  const Program p = initial_program(scan_graph(), CpuMachine{2, 512});
  expect_refused([&] { schedule_scan(p, 0, step_program(p)); }, "no scan");
}

TEST(ScheduleSteps, WhatIsWrongInAStepIsNamed) {
  const Graph graph = scan_graph();
  const Program p = initial_program(graph, CpuMachine{2, 512});
  const std::string scan = stage_name(p.graph, p.graph.stages[scan_in(p)]);
  const auto refused = [&](const std::string& moves, const std::string& reason) {
    expect_refused(
        [&] {
          replay(graph,
                 R"([{"move": "eager_outputs"}, {"move": "schedule_scan", "stage": ")" + scan +
                     R"(", "moves": )" + moves + "}]",
                 CpuMachine{2, 512});
        },
        "move 1: schedule_scan of '" + scan + "': " + reason);
  };
  refused(R"([{"move": "store_nontemporal", "stage": "zzz"}])",
          "move 0: store_nontemporal: \"stage\" is \"zzz\"; ");
  refused("[7]", "move 0: a move must be an object, in 7");
  refused("{}", "the schedule of its steps must be a list of moves");
  refused(R"("[]")", "the schedule of its steps must be a list of moves");
}

}  // namespace
}  // namespace adjit::sched
