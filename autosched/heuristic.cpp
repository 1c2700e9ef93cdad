// autosched/heuristic.cpp -- the default schedule, step by step.
#include "autosched/heuristic.hpp"

#include <algorithm>
#include <set>

#include "autosched/contraction.hpp"
#include "autosched/inlining.hpp"
#include "autosched/moves.hpp"
#include "autosched/nest_schedule.hpp"
#include "autosched/nests.hpp"
#include "autosched/row_groups.hpp"
#include "autosched/scatter_schedule.hpp"
#include "autosched/sibling_groups.hpp"
#include "autosched/task_chains.hpp"

namespace adjit {
namespace {

Program inline_cheap_stages(Program program) {
  for (size_t s : sums_worth_expanding(program)) program = expand_reduction(std::move(program), s);
  const InliningPlan plan = plan_inlining(program);
  if (!plan.recomputed.empty()) program = recompute(std::move(program), plan.recomputed);
  if (!plan.inlined.empty()) program = inline_stages(std::move(program), plan.inlined);
  return program;
}

Program schedule_loops(Program program, const Target& target, const ReductionPlans& plans,
                       Choices& choices) {
  std::set<TensorId> panels;
  for (const auto& [stage, plan] : plans) panels.insert(plan.panels.begin(), plan.panels.end());
  const TaskLoops tasks = plan_chains(program, target, plans);
  std::vector<size_t> roots;
  for (const Kernel& kernel : program.kernels) roots.push_back(kernel.root.stage);
  // Panels' loops are made last, if no product has taken them into its own.
  std::ranges::stable_partition(roots, [&](size_t root) {
    return !panels.contains(program.graph.stages[root].results.front());
  });
  for (size_t root : roots) {
    if (!find_nest(program, root)->steps.empty()) continue;
    const Stage& stage = program.graph.stages[root];
    if (stage.kind == StageKind::Scan) {
      const Choices::Inside inside(choices, stage_name(program.graph, stage));
      Program steps = schedule_with(*stage.scan->body, target, choices);
      program = schedule_steps(std::move(program), root, std::move(steps));
    } else if (stage.kind == StageKind::Scatter || stage.running) {
      program = schedule_scatter(std::move(program), root, target);
    } else {
      program = schedule_kernel(std::move(program), root, target, plans, tasks, choices);
    }
  }
  return program;
}

}  // namespace

Program default_schedule(const Graph& graph, const Target& target) {
  Choices own;
  return schedule_with(graph, target, own);
}

Program schedule_with(const Graph& graph, const Target& target, Choices& choices) {
  Program program = initial_program(graph, target.cores, target.vector_bits);
  program = split_scatters(std::move(program));
  program = inline_cheap_stages(std::move(program));
  program = fuse_sibling_groups(std::move(program), choices);
  ReductionPlans plans;
  program = prepare_reductions(std::move(program), target, plans, choices);
  program = attach_rows(std::move(program), plans, choices);
  return schedule_loops(std::move(program), target, plans, choices);
}

}  // namespace adjit
