// tests/autosched/layout.hpp -- a plain program whose reductions are to be laid out.
#pragma once

#include "autosched/cpu/passes/layout_context.hpp"
#include "autosched/lower/initial_program.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {

/// What a LayoutContext refers to, and the context.
struct Layout {
  explicit Layout(const Graph& graph, Target aim = {.cores = 2})
      : target(aim),
        context{initial_program(graph, aim), target, repeats, plans, task_axes, choices} {}
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  Target target;
  Repeats repeats;
  ReductionPlans plans;
  TaskAxes task_axes;
  Choices choices;
  LayoutContext context;
};

}  // namespace adjit::sched
