// tests/autosched/layout.hpp -- a plain program whose reductions are to be laid out.
#pragma once

#include "autosched/cpu/passes/layout_context.hpp"
#include "autosched/lower/initial_program.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {

/// What a LayoutContext refers to, and the context.
struct Layout {
  explicit Layout(const Graph& graph, CpuMachine aim = {.cores = 2})
      : machine(aim),
        context{initial_program(graph, aim), machine, repeats, plans, task_axes, choices} {}
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  CpuMachine machine;
  Repeats repeats;
  ReductionPlans plans;
  TaskAxes task_axes;
  Choices choices;
  LayoutContext context;
};

}  // namespace adjit::sched
