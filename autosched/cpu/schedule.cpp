// autosched/cpu/schedule.cpp -- the default schedule, step by step.
#include "autosched/cpu/schedule.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/fuse_column_sums.hpp"
#include "autosched/cpu/passes/fuse_epilogue.hpp"
#include "autosched/cpu/passes/fuse_producers.hpp"
#include "autosched/cpu/passes/fuse_tasks.hpp"
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"
#include "autosched/cpu/passes/loops/balance.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/cpu/passes/loops/scatter.hpp"
#include "autosched/cpu/passes/memory/nontemporal.hpp"
#include "autosched/cpu/passes/memory/prefetch.hpp"
#include "autosched/cpu/passes/reductions/prepare.hpp"
#include "autosched/cpu/passes/share_pairwise.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/group_siblings.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
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

// One kernel; `epilogue`: that of a product, which runs in its loops.
Program schedule_root(Program program, size_t root, std::optional<size_t> epilogue,
                      const Target& target, const ReductionPlans& plans, const TaskLoops& tasks,
                      Choices& choices, Attempts& attempts) {
  if (epilogue) return schedule_epilogue(std::move(program), root, *epilogue, plans, choices);
  const Stage& stage = program.graph.stages[root];
  if (stage.kind == StageKind::Scan) {
    const Choices::Inside inside(choices, stage_name(program.graph, stage));
    Program steps = schedule_loops(
        prepare_loops(*stage.scan->body, target, choices, attempts, stage.scan.get()), target,
        choices, attempts, stage.scan.get());
    return schedule_steps(std::move(program), root, std::move(steps));
  }
  if (stage.kind == StageKind::Scatter || stage.running)
    return schedule_scatter(std::move(program), root, target, plans, choices);
  return schedule_kernel(std::move(program), root, target, plans, tasks, {}, choices);
}

Program schedule_kernels(Prepared prepared, const Target& target, Choices& choices,
                         Attempts& attempts) {
  const ReductionPlans plans = prepared.plans;
  attempts(prepared, "chains of parts", [&](Prepared& p) {
    p.program = chain_parts(std::move(p.program), target, plans, p.tasks);
  });
  Program program = std::move(prepared.program);
  std::set<TensorId> panels;
  for (const auto& [stage, plan] : plans) panels.insert(plan.panels.begin(), plan.panels.end());
  const TaskLoops tasks = plan_chains(program, target, plans, std::move(prepared.tasks));
  std::vector<size_t> roots;
  for (const Kernel& kernel : program.kernels) roots.push_back(kernel.root.stage);
  // Panels' loops are made last, if no product has taken them into its own.
  std::ranges::stable_partition(roots, [&](size_t root) {
    return !panels.contains(program.graph.stages[root].results.front());
  });
  std::set<size_t> done;  // epilogues
  for (size_t root : roots) {
    check_cancelled();
    if (done.contains(root) || !find_nest(program, root)->steps.empty()) continue;
    attempts(program, "loops of '" + stage_name(program.graph, program.graph.stages[root]) + "'",
             [&](Program& p) {
               const auto epilogue = epilogue_of(p, root, target, plans, tasks, choices);
               p = schedule_root(std::move(p), root, epilogue, target, plans, tasks, choices,
                                 attempts);
               if (epilogue) done.insert(*epilogue);
             });
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

Program schedule_with(const Graph& graph, const Target& target, Choices& choices) {
  Choices trial = choices;
  try {
    Attempts sure;
    Program made = schedule_loops(prepare_loops(graph, target, trial, sure), target, trial, sure);
    choices = std::move(trial);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
  }
  Attempts attempts = Attempts::with_caution();
  return cautious_schedule(graph, target, choices, attempts);
}

Program cautious_schedule(const Graph& graph, const Target& target, Choices& choices,
                          Attempts& attempts) {
  try {
    Program made =
        schedule_loops(prepare_loops(graph, target, choices, attempts), target, choices, attempts);
    verify(made);
    return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return plain_schedule(graph, target, error.what());
  }
}

Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason) {
  Program plain = initial_program(graph, target.cores, target.vector_bits);
  plain.fallbacks = {"all loops: " + reason};
  return plain;
}

Prepared prepare_stages(const Graph& graph, const Target& target, Choices& choices,
                        Attempts& attempts, const Scan* scan) {
  const Repeats repeats = scan ? repeats_of(*scan) : Repeats{};
  Prepared made;
  made.program = initial_program(graph, target.cores, target.vector_bits);
  made.program.calls = static_cast<double>(repeats.times);
  attempts(made, "scatters in parts, by rows", [&](Prepared& p) {
    p.program = write_scatters_by_rows(split_scatters(std::move(p.program)));
  });
  attempts(made, "inlining", [&](Prepared& p) {
    p.program = scan ? inline_cheap_stages(std::move(p.program), {})
                     : inline_and_share(p.program, target, p.plans, choices);
  });
  attempts(made, "siblings", [&](Prepared& p) {
    p.program = fuse_sibling_groups(std::move(p.program), planned_stages(p.plans), choices);
  });
  if (scan) return made;
  attempts(made, "blocks of rows", [&](Prepared& p) {
    p.program = block_rows(p.program, target, p.plans, p.task_axes, choices);
  });
  return made;
}

Prepared prepare_loops(const Graph& graph, const Target& target, Choices& choices,
                       Attempts& attempts, const Scan* scan) {
  Prepared made = prepare_stages(graph, target, choices, attempts, scan);
  attempts(made, "rematerialization", [&](Prepared& p) {
    p.program = rematerialize_stages(std::move(p.program), planned_stages(p.plans), choices);
  });
  attempts(made, "weighed rows",
           [&](Prepared& p) { p.program = weigh_named_rows(std::move(p.program), p.plans); });
  attempts(made, "reductions", [&](Prepared& p) {
    p.program =
        prepare_reductions(std::move(p.program), target, scan ? repeats_of(*scan) : Repeats{},
                           p.plans, p.task_axes, choices);
  });
  attempts(made, "blocks next to each other", [&](Prepared& p) {
    p.program = gather_blocks(std::move(p.program), p.task_axes, p.tasks);
  });
  attempts(made, "attached rows", [&](Prepared& p) {
    // The steps of a scan share tasks of any number of rows.
    p.program = attach_rows(std::move(p.program), p.plans, p.tasks, scan == nullptr, choices);
  });
  return made;
}

Program schedule_loops(Prepared prepared, const Target& target, Choices& choices,
                       Attempts& attempts, const Scan* scan) {
  if (scan) {
    std::optional<Program> whole;
    attempts(prepared, "whole steps", [&](Prepared& p) {
      Choices trial = choices;
      whole = schedule_whole_steps(p.program, *scan, target, p.plans, trial);
      if (whole) choices = std::move(trial);
    });
    if (whole) return std::move(*whole);
  }
  Program program = schedule_kernels(std::move(prepared), target, choices, attempts);
  if (scan) return program;  // what a step leaves is what the next one reads
  attempts(program, "other shapes in place",
           [&](Program& p) { p = reshapes_in_place(std::move(p)); });
  attempts(program, "rows fetched ahead",
           [&](Program& p) { p = fetch_rows(std::move(p), target, choices); });
  attempts(program, "results past the caches",
           [&](Program& p) { p = stream_results(std::move(p), target, choices); });
  return program;
}

}  // namespace adjit::sched
