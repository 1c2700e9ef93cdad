// autosched/gpu/schedule.cpp -- the default schedule of a GPU.
#include "autosched/gpu/schedule.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/gpu/factor_sums.hpp"
#include "autosched/gpu/fuse_columns.hpp"
#include "autosched/gpu/fuse_epilogues.hpp"
#include "autosched/gpu/fuse_rows.hpp"
#include "autosched/gpu/invert_scatters.hpp"
#include "autosched/gpu/join_sums.hpp"
#include "autosched/gpu/kernel_loops.hpp"
#include "autosched/gpu/pack_gathers.hpp"
#include "autosched/gpu/products/contraction.hpp"
#include "autosched/gpu/products/products.hpp"
#include "autosched/gpu/split_prefixes.hpp"
#include "autosched/gpu/split_reductions.hpp"
#include "autosched/gpu/values_in_memory.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/group_siblings.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// What passes read beside the program.
struct Context {
  const GpuMachine& machine;
  Choices& choices;
  Attempts& attempts;
  const Scan* scan = nullptr;  // whose steps the program is, or null
  PassListener listener = {};  // may be empty
};

struct GpuPass {
  std::string_view name;
  std::vector<Decision> decisions;  // that it may ask; another one is ErrorCode::Internal
  bool of_steps;                    // whether it runs over the steps of scans, too
  Program (*run)(Program program, Context& context);
};

Program run_passes(Program program, Context& context, std::span<const GpuPass> passes);
std::span<const GpuPass> pass_list();

Program start_of(const Graph& graph, const Context& context) {
  Program program = initial_program(graph, context.machine);
  if (context.scan) program.calls = static_cast<double>(repeats_of(*context.scan).times);
  if (context.listener) context.listener(kStart, program);
  return program;
}

Program inline_parts(Program program, Context& context) {
  const std::vector<size_t> parts = values_of_fewer_operands(program, context.machine);
  return parts.empty() ? program : inline_stages(std::move(program), parts);
}

Program inline_stages_of(Program program, Context&) {
  return inline_cheap_stages(std::move(program));
}

// Sums of products with few rows or columns, which each by itself gets tiles for.
StageSet thin_products(const Program& program) {
  StageSet found;
  for (const Stage& stage : program.graph.stages)
    if (is_thin_product(program.graph, stage)) found.insert(stage_key(stage));
  return found;
}

Program fused_siblings(Program program, Choices& choices) {
  const StageSet apart = thin_products(program);
  return fuse_sibling_groups(std::move(program), apart, choices);
}

// What is fused by default tells which values would go through memory.
Program recompute_values(Program program, Context& context) {
  if (!has_large_values(program, context.machine)) return program;
  using Values = std::vector<size_t>(const Program&, const GpuMachine&);
  for (Values* values : {&values_worth_recomputing, &values_faster_recomputed}) {
    Choices usual;
    const Program fused = fuse_rows(fused_siblings(program, usual), context.machine, usual);
    std::vector<std::string> names;
    for (const size_t s : values(fused, context.machine))
      names.push_back(stage_name(fused.graph, fused.graph.stages[s]));
    std::vector<size_t> again;
    for (size_t s = 0; s < program.graph.stages.size(); ++s)
      if (std::ranges::count(names, stage_name(program.graph, program.graph.stages[s])) > 0)
        again.push_back(s);
    if (!again.empty()) program = inline_stages(std::move(program), again);
  }
  return program;
}

Program join_sums_of(Program program, Context& context) {
  return split_for_joint_sums(std::move(program), context.machine);
}

Program fuse_siblings_of(Program program, Context& context) {
  return fused_siblings(std::move(program), context.choices);
}

Program rematerialize_some(Program program, Context& context) {
  return rematerialize_stages(std::move(program), {}, context.choices);
}

Program pack_gathers_of(Program program, Context& context) {
  return pack_gathers(std::move(program), context.machine, context.choices);
}

Program invert_scatters_of(Program program, Context& context) {
  return invert_scatters(std::move(program), context.machine, context.choices);
}

Program factor_sums_of(Program program, Context& context) {
  return factor_sums(std::move(program), context.machine);
}

Program fuse_columns_of(Program program, Context& context) {
  return fuse_columns(std::move(program), context.machine, context.choices);
}

Program fuse_rows_of(Program program, Context& context) {
  return fuse_rows(std::move(program), context.machine, context.choices);
}

Program split_prefixes(Program program, Context& context) {
  return split_long_prefixes(std::move(program), context.machine, context.choices);
}

Program split_reductions(Program program, Context& context) {
  return split_long_reductions(std::move(program), context.machine, context.choices);
}

// In the steps of a scan no results lie in place of others, which other shapes would cost.
Program products_of(Program program, Context& context) {
  return make_products(std::move(program), context.scan == nullptr, context.attempts);
}

Program fuse_epilogues_of(Program program, Context& context) {
  return fuse_epilogues(std::move(program), context.machine, context.choices, context.attempts);
}

Program schedule_steps_of(Program program, size_t root, Context& context) {
  const Stage& stage = program.graph.stages[root];
  const std::string& name = stage_name(program.graph, stage);
  const Choices::Inside inside(context.choices, name);
  Context of_steps{context.machine, context.choices, context.attempts, stage.scan.get(),
                   listener_inside(context.listener, name)};
  Program steps = run_passes(start_of(*stage.scan->body, of_steps), of_steps, pass_list());
  return schedule_scan(std::move(program), root, std::move(steps));
}

// From the last one on: those in front may come into the loops of those behind.
Program schedule_kernels(Program program, Context& context) {
  KernelLoops kernel_loops(program, context.machine, context.choices);
  for (size_t behind = 0; behind < program.kernels.size(); ++behind) {
    check_cancelled();
    const size_t root = program.kernels[program.kernels.size() - 1 - behind].root.stage;
    const Stage& stage = program.graph.stages[root];
    const bool scans = stage.kind == StageKind::Scan;
    const std::string name = stage_name(program.graph, stage);
    bool tiled = false;
    if (!scans)
      context.attempts(program, "tiles of '" + name + "'", [&](Program& p) {
        if (std::optional<Program> made = kernel_loops.product_tiles(p, root)) {
          p = *std::move(made);
          tiled = true;
        }
      });
    if (tiled) continue;
    context.attempts(program, "loops of '" + name + "'", [&](Program& p) {
      p = scans ? schedule_steps_of(std::move(p), root, context) : kernel_loops(std::move(p), root);
    });
  }
  return program;
}

Program alias_reshapes(Program program, Context&) { return reshapes_in_place(std::move(program)); }

std::span<const GpuPass> pass_list() {
  using enum Decision;
  // What scans' steps are made of needs all passes but the last: what a step of a scan leaves is
  // what the next one reads, it stays where it is.
  static const std::vector<GpuPass> passes = {
      // name, decisions, also over the steps of scans, function
      {"inline parts", {}, true, inline_parts},
      {"inline", {}, true, inline_stages_of},
      {"recompute values", {}, true, recompute_values},
      {"join sums", {}, true, join_sums_of},
      {"fuse siblings", {FuseSiblings}, true, fuse_siblings_of},
      {"rematerialize", {EagerOutputs, Rematerialize}, true, rematerialize_some},
      {"invert scatters", {Invert}, true, invert_scatters_of},
      {"factor sums", {}, true, factor_sums_of},
      {"pack gathers", {Pack, EagerOutputs}, false, pack_gathers_of},
      {"fuse columns", {FuseSiblings}, true, fuse_columns_of},
      {"fuse rows", {ComputeAt}, true, fuse_rows_of},
      {"products", {}, true, products_of},
      {"split prefixes", {SplitPrefix}, true, split_prefixes},
      {"split reductions", {Rfactor}, true, split_reductions},
      {"fuse epilogues", {Tile, Epilogue}, true, fuse_epilogues_of},
      {"schedule kernels", {Tile, Epilogue, BlockThreads, ThreadLanes}, true, schedule_kernels},
      {"alias reshapes", {}, false, alias_reshapes},
  };
  return passes;
}

// Of these, rewriting the graph for its own sake: what comes next depends on how much memory it
// needs.
std::span<const GpuPass> passes_before_rematerialization() { return pass_list().first(5); }

Program run_passes(Program program, Context& context, std::span<const GpuPass> passes) {
  for (const GpuPass& pass : passes) {
    if (context.scan && !pass.of_steps) continue;
    check_cancelled();
    const Choices::Only only(context.choices, pass.decisions);
    context.attempts(program, std::string(pass.name),
                     [&](Program& p) { p = pass.run(std::move(p), context); });
    if (context.listener) context.listener(std::string(pass.name), program);
  }
  return program;
}

}  // namespace

MakeSchedule all_passes(const Graph& graph, const GpuMachine& machine,
                        const PassListener& listener) {
  return [&graph, &machine, listener](Choices& choices, Attempts& attempts) {
    Context context{machine, choices, attempts, nullptr, listener};
    return run_passes(start_of(graph, context), context, pass_list());
  };
}

Rematerialization rematerialization_of(const Graph& graph, const GpuMachine& machine) {
  Choices usual;
  Attempts attempts = Attempts::with_caution();
  Context context{machine, usual, attempts};
  const Program stages =
      run_passes(start_of(graph, context), context, passes_before_rematerialization());
  return plan_rematerialization(stages, {});
}

}  // namespace adjit::sched
