// autosched/cpu/passes/loops/kernel.cpp -- the loops of a kernel's nests: lanes and register
// tile, then order and tasks.
#include "autosched/cpu/passes/loops/kernel.hpp"

#include <algorithm>
#include <bit>

#include "autosched/cpu/passes/loops/block_packing.hpp"
#include "autosched/cpu/passes/loops/interchange_outputs.hpp"
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/loops/order.hpp"
#include "autosched/cpu/passes/loops/outer_reduction.hpp"
#include "autosched/cpu/passes/loops/partition_matmul.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/cpu/passes/loops/tile_transpose.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// `task_loops`: leading ones that are no part of a tile.
TileChoice choose(const Program& program, const Nest& nest, const Accesses& accesses,
                  size_t task_loops, Choices& choices) {
  const Stage& stage = program.graph.stages[nest.stage];
  TileProblem problem{program.graph,          stage, accesses, nest.spans,
                      cpu_of(program.target), 0,     false,    program.calls};
  for (size_t l = 0; l < task_loops; ++l) {
    const Loop& loop = nest.loops[l];
    problem.task_axes.push_back(loop.axis);
    if (loop.axis < stage.domain.output_rank) continue;
    problem.passes *= static_cast<double>(loop.trips);
    problem.spans[loop.axis] = loop.step;
  }
  size_t depth = 0;
  for (const Nest::Attached& attached : nest.attached) depth = std::max(depth, attached.depth);
  for (size_t l = 0; l < depth; ++l) problem.task_axes.push_back(nest.loops[l].axis);
  return choose_tile(problem, choices, Decision::Tile);
}

// How many results of a stage, one behind the other along its axis, are stored at once: those of
// lanes along a reduction are folded.
int64_t stored_together(const Program& program, const Nest& nest, size_t axis) {
  if (nest.loops.empty() || nest.loops.back().kind != LoopKind::Vector ||
      nest.loops.back().axis < program.graph.stages[nest.stage].domain.output_rank)
    return INT64_MAX;
  int64_t instances = 1;
  for (const Loop& loop : nest.loops)
    if (loop.kind == LoopKind::Unrolled && loop.axis == axis) instances *= loop.trips;
  return std::bit_floor(static_cast<uint64_t>(std::min(instances, nest.loops.back().trips)));
}

// No more lanes than what a nest beside this one has stored at once: a load of several stores waits
// until L1 has them all.
void take_stored(const Program& program, const Nest& host, const Nest& nest, TileChoice& tile) {
  if (!tile.vector_axis) return;
  for (const MemoryAccess& access :
       accesses_of(program.graph, program.graph.stages[nest.stage]).reads) {
    if (!access.contiguous(*tile.vector_axis)) continue;
    for (const Nest::Attached& beside : host.attached)
      for (TensorId result : program.graph.stages[beside.nest.stage].results)
        if (result == access.tensor)
          tile.lanes =
              std::min(tile.lanes, stored_together(program, beside.nest, *tile.vector_axis));
  }
  if (tile.lanes == 1) tile.vector_axis.reset();
}

// The most rows of a tile, up to its own, of which so many points of the first axis are a multiple.
void divide_evenly(int64_t points, TileChoice& tile) {
  if (points == 0 || !tile.vector_axis || *tile.vector_axis == 0 || tile.factors.empty()) return;
  while (points % tile.factors[0] != 0) --tile.factors[0];
}

// How often the nests attached to a root run.
double attached_iterations(const Nest& root) {
  double count = 1;
  size_t depth = 0;
  for (const Nest::Attached& attached : root.attached) depth = std::max(depth, attached.depth);
  for (size_t l = 0; l < depth; ++l) count *= static_cast<double>(root.loops[l].trips);
  return count;
}

// Copies the panels of an operand inside the lanes' loop of the product that reads them.
Program attach_panels(Program program, size_t host, const ReductionPlan& plan) {
  for (TensorId panel : plan.panels) {
    const Nest& nest = nest_of(program, host);
    size_t depth = tile_begin(nest);
    while (depth > 0 && nest.loops[depth - 1].axis != *plan.tile.vector_axis) --depth;
    const size_t copy = defining_stages(program.graph)[panel.value];
    if (attachment(program, copy, host, depth).refusal) continue;
    program = compute_at(std::move(program), copy, host, depth);
    const size_t lanes_dim = program.graph.stages[copy].domain.output_rank - 1;
    const int64_t vectors = plan.tile.factors[*plan.tile.vector_axis];
    program = vectorize(std::move(program), copy, lanes_dim, plan.tile.lanes);
    if (vectors > 1) program = unroll(std::move(program), copy, lanes_dim, vectors);
  }
  return program;
}

// Fetches the lanes' operand of the next columns, whose rows are too far apart for the processor to
// foresee.
Program stream_operand(Program program, size_t stage, const ReductionPlan& plan) {
  const size_t lanes_axis = *plan.tile.vector_axis;
  const Nest& nest = nest_of(program, stage);
  const bool steps = std::ranges::any_of(nest.loops, [&](const Loop& loop) {
    return loop.axis == lanes_axis && loop.kind == LoopKind::Serial;
  });
  return steps ? prefetch(std::move(program), stage, lanes_axis) : program;
}

ReductionPlan plan_of(const Program& program, size_t stage, const ReductionPlans& plans,
                      size_t task_loops, Choices& choices) {
  const Stage& s = program.graph.stages[stage];
  const auto planned = plans.find(stage_key(s));
  if (planned != plans.end()) return planned->second;
  return {.tile = choose(program, nest_of(program, stage), accesses_of(program.graph, s),
                         task_loops, choices)};
}

// Lanes and instances of a nest of the root's kernel, and the order of its reduction.
Program schedule_nest(Program program, size_t root, size_t stage, size_t task_loops,
                      const CpuMachine& machine, ReductionPlan& plan) {
  const Stage& s = program.graph.stages[stage];
  const Accesses accesses = accesses_of(program.graph, s);
  if (stage != root && s.combiner.kind == CombinerKind::None)
    take_stored(program, nest_of(program, root), nest_of(program, stage), plan.tile);
  if (const auto axis = transposed_along(s, plan.tile, accesses))
    take_pieces(program.graph, nest_of(program, stage), *axis, task_loops, plan.tile);
  program = apply_tile(std::move(program), stage, plan.tile);
  if (program.graph.stages[stage].domain.reduction_rank() > 0)
    program = order_reductions(std::move(program), stage, accesses, machine);
  return program;
}

// A kernel whose nests have their tiles.
struct TiledKernel {
  Program program;
  ReductionPlan plan;  // of the root
  double cycles = 0;   // of one core
};

TiledKernel tile_nests(Program program, size_t root, size_t task_loops, const CpuMachine& machine,
                       const ReductionPlans& plans, const SharedTasks& shared, Choices& choices) {
  TiledKernel kernel;
  std::vector<size_t> stages;
  for_each_nest(nest_of(program, root), [&](const Nest& nest) { stages.push_back(nest.stage); });
  const double iterations = attached_iterations(nest_of(program, root));
  for (size_t s : stages) {
    const size_t own_tasks = s == root ? task_loops : 0;
    ReductionPlan plan = plan_of(program, s, plans, own_tasks, choices);
    if (s == root) divide_evenly(shared.points, plan.tile);
    kernel.cycles += (plan.tile.cycles - plan.tile.packing) * (s == root ? 1 : iterations);
    program = schedule_nest(std::move(program), root, s, own_tasks, machine, plan);
    if (s == root) kernel.plan = std::move(plan);
  }
  kernel.program = std::move(program);
  return kernel;
}

// Tasks that nothing has settled. Loops over results go into the order that the caches want, if any
// do; the result says whether they are.
OrderedResults choose_tasks_of(TiledKernel kernel, size_t root, const Accesses& accesses,
                               bool transposed, const CpuMachine& machine, Choices& choices) {
  const ReductionPlan& plan = kernel.plan;
  TaskLimits limits;
  limits.fewest = plan.streamed_steps > 0 ? 1 : 2;
  const Stage& stage = kernel.program.graph.stages[root];
  if (plan.reads_much())
    limits.serial_axis = rows_axis(stage, plan.tile, accesses);
  else
    limits.largest_chunk = rows_in_cache(stage, plan.tile, accesses, machine);
  OrderedResults made{std::move(kernel.program), false};
  if (!plan.reads_much() && !plan.reduction_outside) {
    made = order_results(std::move(made.program), root, machine, choices);
    if (!made.moved) {
      OrderedResults product =
          order_product(std::move(made.program), root, plan.tile, machine, choices);
      made.program = std::move(product.program);
      // Of columns: all rows stay in the cache.
      if (product.moved) limits.largest_chunk = INT64_MAX;
    }
  }
  if (transposed) made.program = walk_operand(std::move(made.program), root, accesses);
  made.program = run_in_parallel(std::move(made.program), root, kernel.cycles, limits, choices);
  return made;
}

// Tasks as they are settled, if they are: by the root's plan, for all kernels, or as so many loops.
OrderedResults make_tasks_of(TiledKernel kernel, size_t root, const Accesses& accesses,
                             bool transposed, size_t task_loops, const SharedTasks& shared,
                             const CpuMachine& machine, Choices& choices) {
  if (kernel.plan.task_points > 0)
    return {share_tasks(std::move(kernel.program), root, {true, kernel.plan.task_points}), false};
  if (shared.first_axis) return {share_tasks(std::move(kernel.program), root, shared), false};
  if (task_loops > 0) return {parallel(std::move(kernel.program), root, task_loops), false};
  return choose_tasks_of(std::move(kernel), root, accesses, transposed, machine, choices);
}

}  // namespace

Program apply_tile(Program program, size_t stage, const TileChoice& choice) {
  if (!choice.vector_axis) return program;
  program = vectorize(std::move(program), stage, *choice.vector_axis, choice.lanes);
  for (size_t a = 0; a < choice.factors.size(); ++a)
    if (choice.factors[a] > 1 && a != *choice.vector_axis)
      program = unroll(std::move(program), stage, a, choice.factors[a]);
  if (const int64_t f = choice.factors[*choice.vector_axis]; f > 1)
    program = unroll(std::move(program), stage, *choice.vector_axis, f);
  return program;
}

Program schedule_attached(Program program, size_t root, const CpuMachine& machine,
                          const ReductionPlans& plans, Choices& choices) {
  std::vector<size_t> stages;
  for_each_nest(nest_of(program, root), [&](const Nest& nest) {
    if (nest.stage != root) stages.push_back(nest.stage);
  });
  for (size_t s : stages) {
    ReductionPlan plan = plan_of(program, s, plans, 0, choices);
    program = schedule_nest(std::move(program), root, s, 0, machine, plan);
  }
  return program;
}

Program schedule_kernel(Program program, size_t root_stage, const CpuMachine& machine,
                        const ReductionPlans& plans, const TaskLoops& tasks,
                        const SharedTasks& shared, Choices& choices) {
  const auto settled = tasks.find(stage_key(program.graph.stages[root_stage]));
  const size_t task_loops = settled == tasks.end() ? 0 : settled->second;
  TiledKernel kernel =
      tile_nests(std::move(program), root_stage, task_loops, machine, plans, shared, choices);
  const ReductionPlan plan = kernel.plan;
  const Accesses accesses =
      accesses_of(kernel.program.graph, kernel.program.graph.stages[root_stage]);
  const std::optional<size_t> transposed =
      transposed_along(kernel.program.graph.stages[root_stage], plan.tile, accesses);
  if (plan.reads_much())
    kernel.program =
        panels_outside_rows(std::move(kernel.program), root_stage, plan.tile, accesses);
  OrderedResults made = make_tasks_of(std::move(kernel), root_stage, accesses,
                                      transposed.has_value(), task_loops, shared, machine, choices);
  program = std::move(made.program);
  if (transposed) return order_transposition(std::move(program), root_stage, *transposed);
  if (program.graph.stages[root_stage].domain.reduction_rank() == 0)
    return copy_in_chunks(std::move(program), root_stage, accesses);
  program = block_reduction(std::move(program), root_stage, plan, accesses);
  program =
      order_outputs(std::move(program), root_stage, plan, accesses, machine, made.moved, choices);
  if (plan.streamed_steps > 0) return stream_operand(std::move(program), root_stage, plan);
  program = sum_in_passes(std::move(program), root_stage, machine, choices);
  program = sum_in_strips(std::move(program), root_stage, machine, choices);
  return attach_panels(std::move(program), root_stage, plan);
}

}  // namespace adjit::sched
