// autosched/cpu/schedule_kernels.cpp -- the pass that makes the loops of all kernels.
#include "autosched/cpu/schedule_kernels.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "autosched/cpu/passes/fuse_epilogue.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/cpu/passes/loops/scatter.hpp"
#include "autosched/cpu/passes/persistent_scan.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

Program schedule_steps_of(Program program, size_t root, ScheduleContext& context) {
  const Stage& stage = program.graph.stages[root];
  const std::string& name = stage_name(program.graph, stage);
  const Choices::Inside inside(context.choices, name);
  ScheduleContext of_steps{context.machine, context.choices, context.attempts};
  of_steps.scan = stage.scan.get();
  of_steps.listener = listener_inside(context.listener, name);
  Program steps =
      run_passes(start_of(*stage.scan->body, of_steps), of_steps, Phase::Stages, Phase::Layouts);
  std::optional<Program> whole;
  context.attempts(steps, "whole steps of '" + name + "'", [&](Program& p) {
    Choices trial = context.choices;
    whole =
        schedule_whole_steps(p, *of_steps.scan, context.machine, of_steps.plans.reductions, trial);
    if (whole) context.choices = std::move(trial);
  });
  if (!whole) whole = run_passes(std::move(steps), of_steps, Phase::Loops, Phase::Loops);
  return schedule_scan(std::move(program), root, std::move(*whole));
}

// One kernel; `epilogue`: that of a product, which runs in its loops.
Program schedule_root(Program program, size_t root, std::optional<size_t> epilogue,
                      ScheduleContext& context) {
  const ReductionPlans& plans = context.plans.reductions;
  if (epilogue)
    return schedule_epilogue(std::move(program), root, *epilogue, plans, context.choices);
  const Stage& stage = program.graph.stages[root];
  if (stage.kind == StageKind::Scan) return schedule_steps_of(std::move(program), root, context);
  if (stage.kind == StageKind::Scatter || running_of(program.graph, stage))
    return schedule_scatter(std::move(program), root, context.machine, plans, context.choices);
  return schedule_kernel(std::move(program), root, context.machine, plans, context.plans.task_loops,
                         {}, context.choices);
}

// Panels' loops are made last, if no product has taken them into its own.
std::vector<size_t> roots_in_order(const Program& program, const ReductionPlans& plans) {
  std::set<TensorId> panels;
  for (const auto& [stage, plan] : plans) panels.insert(plan.panels.begin(), plan.panels.end());
  std::vector<size_t> roots;
  for (const Kernel& kernel : program.kernels) roots.push_back(kernel.root.stage);
  std::ranges::stable_partition(roots, [&](size_t root) {
    return !panels.contains(program.graph.stages[root].results.front());
  });
  return roots;
}

}  // namespace

Program schedule_kernels(Program program, ScheduleContext& context) {
  const ReductionPlans& plans = context.plans.reductions;
  std::set<size_t> done;  // epilogues
  for (size_t root : roots_in_order(program, plans)) {
    check_cancelled();
    if (done.contains(root) || !find_nest(program, root)->steps.empty()) continue;
    const std::string& name = stage_name(program.graph, program.graph.stages[root]);
    context.attempts(program, "loops of '" + name + "'", [&](Program& p) {
      const std::optional<size_t> epilogue =
          epilogue_of(p, root, context.machine, plans, context.plans.task_loops, context.choices);
      p = schedule_root(std::move(p), root, epilogue, context);
      if (epilogue) done.insert(*epilogue);
    });
  }
  return program;
}

}  // namespace adjit::sched
