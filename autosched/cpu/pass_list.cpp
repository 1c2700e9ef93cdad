// autosched/cpu/pass_list.cpp -- the default schedule: a list of passes over a program.
#include "autosched/cpu/pass_list.hpp"

#include <algorithm>
#include <utility>

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/cpu/passes/fuse_column_sums.hpp"
#include "autosched/cpu/passes/fuse_producers.hpp"
#include "autosched/cpu/passes/fuse_tasks.hpp"
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"
#include "autosched/cpu/passes/inline_and_share.hpp"
#include "autosched/cpu/passes/loops/scatter.hpp"
#include "autosched/cpu/passes/memory/nontemporal.hpp"
#include "autosched/cpu/passes/memory/prefetch.hpp"
#include "autosched/cpu/passes/reductions/prepare.hpp"
#include "autosched/cpu/passes/tile_fusion/apply.hpp"
#include "autosched/cpu/schedule_kernels.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/group_siblings.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

Repeats repeats_of_steps(const ScheduleContext& context) {
  return context.scan ? repeats_of(*context.scan) : Repeats{};
}

Program privatize_scatters(Program program, ScheduleContext&) {
  return write_scatters_by_rows(split_scatters(std::move(program)));
}

Program inline_stages_of(Program program, ScheduleContext& context) {
  if (context.scan) return inline_cheap_stages(std::move(program), {});
  return inline_and_share(program, context.machine, context.plans.reductions, context.choices);
}

Program fuse_siblings_of(Program program, ScheduleContext& context) {
  return fuse_sibling_groups(std::move(program), planned_stages(context.plans.reductions),
                             context.choices);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): passes take their program so
Program fuse_tiles(Program program, ScheduleContext& context) {
  return block_rows(program, context.machine, context.plans.reductions, context.plans.task_axes,
                    context.choices);
}

Program rematerialize_some(Program program, ScheduleContext& context) {
  return rematerialize_stages(std::move(program), planned_stages(context.plans.reductions),
                              context.choices);
}

Program accumulate_scattered_rows(Program program, ScheduleContext& context) {
  return accumulate_indexed_rows(std::move(program), context.plans.reductions);
}

Program lay_out_reductions(Program program, ScheduleContext& context) {
  return prepare_reductions(std::move(program), context.machine, repeats_of_steps(context),
                            context.plans.reductions, context.plans.task_axes, context.choices);
}

Program make_chains_adjacent(Program program, ScheduleContext& context) {
  return gather_blocks(std::move(program), context.plans.task_axes, context.plans.task_loops);
}

// The steps of a scan share tasks of any number of rows: there no rows stand side by side.
Program fuse_producers(Program program, ScheduleContext& context) {
  return attach_rows(std::move(program), context.plans.reductions, context.plans.task_loops,
                     context.scan == nullptr, context.choices);
}

Program fuse_column_sums(Program program, ScheduleContext& context) {
  return chain_parts(std::move(program), context.machine, context.plans.reductions,
                     context.plans.task_loops);
}

Program fuse_tasks(Program program, ScheduleContext& context) {
  context.plans.task_loops = plan_chains(program, context.machine, context.plans.reductions,
                                         std::move(context.plans.task_loops));
  return program;
}

Program alias_reshapes(Program program, ScheduleContext&) {
  return reshapes_in_place(std::move(program));
}

Program prefetch_rows(Program program, ScheduleContext& context) {
  return fetch_rows(std::move(program), context.machine, context.choices);
}

Program store_nontemporally(Program program, ScheduleContext& context) {
  return stream_results(std::move(program), context.machine, context.choices);
}

}  // namespace

std::span<const Pass> passes() {
  using enum Decision;
  using enum Phase;
  static const std::vector<Pass> list = {
      // name, phase, decisions, also over the steps of scans, function
      {"privatize scatters", Stages, {}, true, privatize_scatters},
      {"inline and share pairs", Stages, {SharePairwise}, true, inline_stages_of},
      {"fuse siblings", Stages, {FuseSiblings}, true, fuse_siblings_of},
      {"tile fusion", Stages, {TileFusion}, false, fuse_tiles},

      {"rematerialize", Layouts, {EagerOutputs, Rematerialize}, true, rematerialize_some},
      {"accumulate scattered rows", Layouts, {}, true, accumulate_scattered_rows},
      {"lay out reductions",
       Layouts,
       {FuseAxes, Pad, Rfactor, Residues, Pack, PackedTile, TransposeOutput},
       true,
       lay_out_reductions},
      {"make chains adjacent", Layouts, {}, true, make_chains_adjacent},
      {"fuse producers", Layouts, {ComputeAt, Interleave}, true, fuse_producers},

      {"fuse column sums", Loops, {}, true, fuse_column_sums},
      {"fuse tasks", Loops, {}, true, fuse_tasks},
      {"schedule kernels",
       Loops,
       {Tile, Tasks, Order, Epilogue, OuterReduction, StripMine},
       true,
       schedule_kernels},
      // What a step of a scan leaves is what the next one reads: it stays where it is.
      {"alias reshapes", Loops, {}, false, alias_reshapes},
      {"prefetch", Loops, {Prefetch}, false, prefetch_rows},
      {"nontemporal stores", Loops, {Nontemporal}, false, store_nontemporally},
  };
  return list;
}

Program start_of(const Graph& graph, const ScheduleContext& context) {
  Program program = initial_program(graph, context.machine);
  program.calls = static_cast<double>(repeats_of_steps(context).times);
  if (context.listener) context.listener(kStart, program);
  return program;
}

Program run_passes(Program program, ScheduleContext& context, Phase first, Phase last) {
  for (const Pass& pass : passes()) {
    if (pass.phase < first || pass.phase > last || (context.scan && !pass.of_steps)) continue;
    check_cancelled();
    const Choices::Only only(context.choices, pass.decisions);
    StagePlans before;
    if (context.attempts.cautious()) before = context.plans;
    const bool done = context.attempts(program, std::string(pass.name),
                                       [&](Program& p) { p = pass.run(std::move(p), context); });
    if (!done) context.plans = std::move(before);
    if (context.listener) context.listener(std::string(pass.name), program);
  }
  return program;
}

}  // namespace adjit::sched
