// autosched/heuristic.cpp -- the default schedule, step by step.
#include "autosched/heuristic.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "autosched/contraction.hpp"
#include "autosched/epilogue.hpp"
#include "autosched/even_parts.hpp"
#include "autosched/fetch_rows.hpp"
#include "autosched/inlining.hpp"
#include "autosched/moves.hpp"
#include "autosched/named_rows.hpp"
#include "autosched/nest_schedule.hpp"
#include "autosched/nests.hpp"
#include "autosched/part_chains.hpp"
#include "autosched/rematerialization.hpp"
#include "autosched/row_groups.hpp"
#include "autosched/scatter_schedule.hpp"
#include "autosched/shared_pairs.hpp"
#include "autosched/sibling_groups.hpp"
#include "autosched/stream_results.hpp"
#include "autosched/task_chains.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

Program inline_cheap_stages(Program program, const Shapes& again) {
  for (size_t s : sums_worth_expanding(program, again))
    program = expand_reduction(std::move(program), s);
  const InliningPlan plan = plan_inlining(program, again);
  if (!plan.recomputed.empty()) program = recompute(std::move(program), plan.recomputed);
  if (!plan.inlined.empty()) program = inline_stages(std::move(program), plan.inlined);
  return program;
}

// Vector instructions of all stages, inaccurately.
double work_of(const Program& program) {
  WorkMeter meter(program.graph.pool);
  double work = 0;
  for (const Stage& stage : program.graph.stages)
    work += box_points(stage.domain) * meter(stage.bodies).cost;
  return work;
}

// Pairs are first looked for where their values are computed again by all readers. Where sums are
// found to share them, that is how it stays, unless others than these would compute more for it.
Program inline_and_share(const Program& program, const Target& target, ReductionPlans& plans,
                         Choices& choices) {
  constexpr double kMoreWork = 1.03;
  Program usual = inline_cheap_stages(program, {});
  const Shapes shapes = shapes_of_pairs(usual, target);
  for (const std::vector<int64_t>& shape : shapes) {
    Choices trial = choices;
    ReductionPlans planned;
    Program shared = share_pairs(inline_cheap_stages(program, {shape}), target, planned, trial);
    if (planned.empty() || work_of(shared) > kMoreWork * work_of(usual)) continue;
    choices = std::move(trial);
    plans = std::move(planned);
    return shared;
  }
  return share_pairs(std::move(usual), target, plans, choices);
}

Program schedule_kernels(Program program, const Target& target, const ReductionPlans& plans,
                         TaskLoops settled, Choices& choices) {
  program = chain_parts(std::move(program), target, plans, settled);
  std::set<TensorId> panels;
  for (const auto& [stage, plan] : plans) panels.insert(plan.panels.begin(), plan.panels.end());
  const TaskLoops tasks = plan_chains(program, target, plans, std::move(settled));
  std::vector<size_t> roots;
  for (const Kernel& kernel : program.kernels) roots.push_back(kernel.root.stage);
  // Panels' loops are made last, if no product has taken them into its own.
  std::ranges::stable_partition(roots, [&](size_t root) {
    return !panels.contains(program.graph.stages[root].results.front());
  });
  std::set<size_t> done;  // epilogues
  for (size_t root : roots) {
    if (done.contains(root) || !find_nest(program, root)->steps.empty()) continue;
    if (const auto epilogue = epilogue_of(program, root, target, plans, tasks, choices)) {
      program = schedule_epilogue(std::move(program), root, *epilogue, plans, choices);
      done.insert(*epilogue);
      continue;
    }
    const Stage& stage = program.graph.stages[root];
    if (stage.kind == StageKind::Scan) {
      const Choices::Inside inside(choices, stage_name(program.graph, stage));
      Program steps = schedule_with(*stage.scan->body, target, choices, stage.scan.get());
      program = schedule_steps(std::move(program), root, std::move(steps));
    } else if (stage.kind == StageKind::Scatter || stage.running) {
      program = schedule_scatter(std::move(program), root, target, plans, choices);
    } else {
      program = schedule_kernel(std::move(program), root, target, plans, tasks, {}, choices);
    }
  }
  return program;
}

// Whether what the steps of a scan are given fixed stays in every core's cache while its tasks go
// through the steps, and all steps take long enough for several cores.
bool whole_steps_pay(const Program& program, const Scan& scan, const Target& target) {
  constexpr int64_t kSteps = 4;
  constexpr double kPoints = 1 << 15;  // of all steps
  if (target.cores < 2 || scan.conditional || scan.trips < kSteps) return false;
  double bytes = 0, points = 0;
  const std::vector<TensorId>& inputs = program.graph.inputs;
  for (size_t k = repeats_of(scan).first_same; k < inputs.size(); ++k) {
    const TensorInfo& info = program.graph.info(inputs[k]);
    bytes += static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
  }
  for (const Kernel& kernel : program.kernels) points += points_of(program, kernel);
  return bytes <= 0.75 * static_cast<double>(target.l2_bytes) &&
         points * static_cast<double>(scan.trips) >= kPoints;
}

// Schedules the steps' kernels, the first of `roots` before the others, whose tasks follow it;
// nullopt where tasks would need each other, or are too few.
std::optional<Program> try_whole_steps(Program program, const Scan& scan, const Target& target,
                                       const ReductionPlans& plans, SharedTasks shared,
                                       const std::vector<size_t>& roots,
                                       const std::set<size_t>& once, Choices& choices) {
  for (size_t root : roots) {
    const bool apart = once.contains(root);
    program = schedule_kernel(std::move(program), root, target, plans, {},
                              apart ? SharedTasks{} : shared, choices);
    const Nest& nest = nest_of(program, root);
    if (apart) continue;
    if (parallel_depth(nest) != 1) return std::nullopt;
    shared.points = nest.loops[0].step;
  }
  if (task_chains(program, &scan).tasks < target.cores) return std::nullopt;
  return program;
}

// The steps of a scan with the same tasks for all kernels, so that every task goes through all
// steps by itself (task_chains.hpp): parts of the first axis, of the size that suits the kernel of
// the most points. nullopt where there are none.
std::optional<Program> schedule_whole_steps(const Program& program, const Scan& scan,
                                            const Target& target, const ReductionPlans& plans,
                                            Choices& choices) {
  if (!whole_steps_pay(program, scan, target)) return std::nullopt;
  // A large operand would be read again by every task, in every step.
  if (std::ranges::any_of(plans, [](const auto& plan) { return plan.second.reads_much(); }))
    return std::nullopt;
  const std::vector<bool> before = invariant_kernels(program, scan);
  std::set<size_t> once;
  std::vector<size_t> roots;  // the one of the most points first
  double most = -1;
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    const Stage& stage = program.graph.stages[kernel.root.stage];
    if (stage.kind != StageKind::Compute || stage.running) return std::nullopt;
    roots.push_back(kernel.root.stage);
    if (before[k]) once.insert(kernel.root.stage);
    if (before[k] || points_of(program, kernel) <= most) continue;
    most = points_of(program, kernel);
    std::swap(roots.front(), roots.back());
  }
  if (most < 0) return std::nullopt;
  const uint32_t first = program.graph.stages[roots.front()].results.front().value;
  if (const auto planned = plans.find(first); planned != plans.end())
    if (const auto parts = even_parts(program, roots.front(), planned->second.tile, target)) {
      ReductionPlans even = plans;
      even[first].tile = parts->tile;
      Choices trial = choices;
      if (std::optional<Program> whole = try_whole_steps(
              program, scan, target, even, {true, parts->points}, roots, once, trial)) {
        choices = std::move(trial);
        return whole;
      }
    }
  return try_whole_steps(program, scan, target, plans, {true, 0}, roots, once, choices);
}

}  // namespace

Program default_schedule(const Graph& graph, const Target& target) {
  Choices own;
  return schedule_with(graph, target, own);
}

Program schedule_with(const Graph& graph, const Target& target, Choices& choices,
                      const Scan* scan) {
  return schedule_loops(prepare_loops(graph, target, choices, scan), target, choices, scan);
}

Prepared prepare_stages(const Graph& graph, const Target& target, Choices& choices,
                        const Scan* scan) {
  const Repeats repeats = scan ? repeats_of(*scan) : Repeats{};
  Prepared made;
  Program program = initial_program(graph, target.cores, target.vector_bits);
  program.calls = static_cast<double>(repeats.times);
  program = write_scatters_by_rows(split_scatters(std::move(program)));
  program = scan ? inline_cheap_stages(std::move(program), {})
                 : inline_and_share(program, target, made.plans, choices);
  program = fuse_sibling_groups(std::move(program), made.plans, choices);
  if (!scan) program = block_rows(program, target, made.plans, made.task_axes, choices);
  made.program = std::move(program);
  return made;
}

Prepared prepare_loops(const Graph& graph, const Target& target, Choices& choices,
                       const Scan* scan) {
  Prepared made = prepare_stages(graph, target, choices, scan);
  Program program = rematerialize_stages(std::move(made.program), made.plans, choices);
  program = weigh_named_rows(std::move(program), made.plans);
  program = prepare_reductions(std::move(program), target, scan ? repeats_of(*scan) : Repeats{},
                               made.plans, made.task_axes, choices);
  program = gather_blocks(std::move(program), made.task_axes, made.tasks);
  // The steps of a scan share tasks of any number of rows.
  made.program = attach_rows(std::move(program), made.plans, made.tasks, scan == nullptr, choices);
  return made;
}

Program schedule_loops(Prepared prepared, const Target& target, Choices& choices,
                       const Scan* scan) {
  if (scan) {
    Choices trial = choices;
    if (std::optional<Program> whole =
            schedule_whole_steps(prepared.program, *scan, target, prepared.plans, trial)) {
      choices = std::move(trial);
      return std::move(*whole);
    }
  }
  Program program = schedule_kernels(std::move(prepared.program), target, prepared.plans,
                                     prepared.tasks, choices);
  if (scan) return program;  // what a step leaves is what the next one reads
  program = reshapes_in_place(std::move(program));
  program = fetch_rows(std::move(program), target, choices);
  return stream_results(std::move(program), target, choices);
}

}  // namespace adjit
