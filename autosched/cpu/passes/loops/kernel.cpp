// autosched/cpu/passes/loops/kernel.cpp -- the loops of one nest: lanes, register tile, order,
// parallel tasks.
#include "autosched/cpu/passes/loops/kernel.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autosched/cpu/passes/loops/block_packing.hpp"
#include "autosched/cpu/passes/loops/interchange_outputs.hpp"
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/loops/outer_reduction.hpp"
#include "autosched/cpu/passes/loops/partition_matmul.hpp"
#include "autosched/cpu/passes/loops/tile_transpose.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/moves/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Estimated microseconds. Entering the thread pool costs up to 10 us after idling, 0.2 us in a
// loop, and estimates are of the fastest machines: shorter kernels run inline.
constexpr double kParallelFrom = 4;

// `task_loops`: leading ones that are no part of a tile.
TileChoice choose(const Program& program, const Nest& nest, const Accesses& accesses,
                  size_t task_loops, Choices& choices) {
  const Stage& stage = program.graph.stages[nest.stage];
  TileProblem problem{program.graph,       stage, accesses, nest.spans,
                      program.vector_bits, 0,     false,    program.calls};
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
  int64_t copies = 1;
  for (const Loop& loop : nest.loops)
    if (loop.kind == LoopKind::Unrolled && loop.axis == axis) copies *= loop.trips;
  return std::bit_floor(static_cast<uint64_t>(std::min(copies, nest.loops.back().trips)));
}

// No more lanes than what a nest beside this one has stored at once: a load of several stores waits
// until the first cache has them all.
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

// Bytes that a kernel moves at least: every tensor it reads or writes once.
double bytes_moved(const Program& program, const Nest& root) {
  double bytes = 0;
  for_each_nest(root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    std::vector<TensorId> tensors = stage.results;
    for (TensorId id : tensors_read(program.graph, stage)) tensors.push_back(id);
    for (TensorId id : tensors) {
      if (program.scopes[id.value] == Scope::Local) continue;
      const TensorInfo& info = program.graph.info(id);
      bytes += static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
    }
  });
  return bytes;
}

// What one kernel's loops are decided by.
struct Tasks {
  size_t loops = 0;   // leading loops that become parallel
  int64_t chunk = 1;  // trips of the last of them that one task takes
};

// The most points that one core gets when tasks of `chunk` points of `trips`, `outer` times, are
// shared out (jit/cpu/parallel.cpp).
int64_t largest_share(int64_t outer, int64_t trips, int64_t chunk, int cores) {
  const int64_t per_row = ceil_div(trips, chunk), count = outer * per_row;
  const auto points = [&](int64_t tasks) {
    return tasks / per_row * trips + std::min(tasks % per_row * chunk, trips);
  };
  int64_t largest = 0;
  for (int64_t k = 0; k < cores; ++k)
    largest = std::max(largest, points(count * (k + 1) / cores) - points(count * k / cores));
  return largest;
}

// The last of the first `loops` loops in chunks: the smallest makespan with `fewest` to four times
// as many tasks a core, and of equal ones the largest tasks.
struct Chunks {
  int64_t chunk = 1;
  double efficiency = 0;  // of the cores, when all points take the same time
};

Chunks choose_chunks(const Nest& nest, size_t loops, int cores, int64_t fewest,
                     int64_t largest_chunk) {
  int64_t outer = 1;
  for (size_t l = 0; l + 1 < loops; ++l) outer *= nest.loops[l].trips;
  const int64_t trips = nest.loops[loops - 1].trips;
  Chunks best;
  int64_t best_makespan = INT64_MAX;
  // Of chunks that give as many tasks, the largest and the smallest.
  for (int64_t chunk = std::min(trips, largest_chunk); chunk >= 1;) {
    const int64_t parts = ceil_div(trips, chunk), smallest = ceil_div(trips, parts);
    const int64_t count = outer * parts;
    if (count > 4 * fewest * cores && best_makespan != INT64_MAX) break;
    // Tasks that are all alike have no end to ask for; else the largest leaves the fewest points
    // over.
    const bool even = trips % smallest == 0;
    for (const int64_t size : {even ? smallest : chunk, even ? chunk : smallest}) {
      if (count < fewest * cores && size > 1) continue;
      const int64_t makespan = largest_share(outer, trips, size, cores);
      if (makespan >= best_makespan) continue;
      best_makespan = makespan;
      best = {size, static_cast<double>(outer * trips) / static_cast<double>(cores * makespan)};
    }
    chunk = smallest - 1;
  }
  return best;
}

// Enough tasks that no core waits long for the last one, of as few loops as that takes.
Tasks choose_tasks(const Nest& nest, size_t output_loops, int cores, int64_t fewest,
                   int64_t largest_chunk) {
  constexpr double kEven = 0.9;
  Tasks tasks;
  double best = 0;
  int64_t count = 1;
  for (size_t loops = 1; loops <= output_loops && count <= 16 * fewest * cores; ++loops) {
    count *= nest.loops[loops - 1].trips;
    if (count < 2 || (count < fewest * cores && loops < output_loops)) continue;
    const Chunks chunks = choose_chunks(nest, loops, cores, fewest, largest_chunk);
    if (chunks.efficiency <= best + 0.02) continue;
    best = chunks.efficiency;
    tasks = {loops, chunks.chunk};
    if (best >= kEven) break;
  }
  return tasks;
}

// Whether a row of the domain mentions the axis of one of the first loops.
bool conditions_on(const Domain& domain, const Nest& nest, size_t loops) {
  for (size_t l = 0; l < loops; ++l)
    if (domain.is_bounded(nest.loops[l].axis)) return true;
  return false;
}

// Tasks of the last of the first `loops` loops, `chunk` trips of it each.
Program make_tasks(Program program, size_t stage, const Tasks& tasks) {
  const Nest& nest = nest_of(program, stage);
  const Loop& last = nest.loops[tasks.loops - 1];
  const size_t axis = last.axis;
  // A parallel loop must not be the one that steps over ragged register tiles: its body would be
  // there twice.
  const bool over_tile =
      std::ranges::any_of(nest.loops.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest)),
                          nest.loops.end(), [&](const Loop& loop) { return loop.axis == axis; });
  const bool ragged = nest.spans[axis] % last.step != 0;
  // Tasks divide what an outer loop over the same axis takes at once (rows side by side).
  int64_t chunk = tasks.chunk;
  for (size_t l = 0; l + 1 < tasks.loops; ++l)
    while (nest.loops[l].axis == axis && nest.loops[l].step % (chunk * last.step) != 0) --chunk;
  if (chunk > 1 || (over_tile && ragged)) {
    const int64_t steps[] = {chunk * last.step};
    program = tile(std::move(program), stage, axis, steps);
  }
  return parallel(std::move(program), stage, tasks.loops);
}

// The most rows of a tile, up to its own, of which so many points of the first axis are a multiple.
void divide_evenly(int64_t points, TileChoice& tile) {
  if (points == 0 || !tile.vector_axis || *tile.vector_axis == 0 || tile.factors.empty()) return;
  while (points % tile.factors[0] != 0) --tile.factors[0];
}

// As all kernels share them; as it is where the loops are not so.
Program share_tasks(Program program, size_t stage, const SharedTasks& shared) {
  const Nest& nest = nest_of(program, stage);
  if (tile_begin(nest) == 0 || nest.loops[0].axis != 0 ||
      program.graph.stages[stage].domain.output_rank == 0)
    return program;
  const int64_t step = nest.loops[0].step;
  if (shared.points % step != 0) return program;
  const Tasks tasks = shared.points > 0
                          ? Tasks{1, shared.points / step}
                          : choose_tasks(nest, 1, std::max(program.cores, 2), 2, INT64_MAX);
  if (tasks.loops == 0) return program;
  return make_tasks(std::move(program), stage, tasks);
}

// How often the nests attached to a root run.
double attached_iterations(const Nest& root) {
  double count = 1;
  size_t depth = 0;
  for (const Nest::Attached& attached : root.attached) depth = std::max(depth, attached.depth);
  for (size_t l = 0; l < depth; ++l) count *= static_cast<double>(root.loops[l].trips);
  return count;
}

// Trips of the rows' loop whose operand fills half the second-level cache.
int64_t rows_in_cache(const Stage& stage, const TileChoice& tile, const Accesses& accesses,
                      const Target& target) {
  const std::optional<size_t> rows = rows_axis(stage, tile, accesses);
  if (!rows) return INT64_MAX;
  const double trips =
      static_cast<double>(target.l2_bytes) / 2 / row_bytes(stage, tile.factors[*rows]);
  return std::max<int64_t>(4, static_cast<int64_t>(trips));
}

// Long reductions of matrix products run in blocks of about 512 outside the outputs' loops, or as
// they are planned.
Program block_reduction(Program program, size_t stage, const ReductionPlan& plan,
                        const Accesses& accesses) {
  const Stage& s = program.graph.stages[stage];
  const TileChoice& tile_choice = plan.tile;
  if (plan.streamed_steps > 0) {
    const int64_t steps[] = {plan.streamed_steps};
    return tile(std::move(program), stage, s.domain.output_rank, steps);
  }
  if (!s.domain.is_box() || !rows_axis(s, tile_choice, accesses) ||
      s.domain.reduction_rank() != 1 || !accesses.result.contiguous(*tile_choice.vector_axis))
    return program;
  const size_t axis = s.domain.output_rank;
  const int64_t extent = s.domain.extents[axis];
  if (extent <= kWholeReduction) return program;
  const int64_t blocks = ceil_div(extent, kReductionBlock);
  const int64_t steps[] = {ceil_div(ceil_div(extent, blocks), 16) * 16};
  return tile(std::move(program), stage, axis, steps);
}

// Whether a serial loop steps over another serial loop of its axis.
bool is_block(const Nest& nest, size_t loop) {
  for (size_t l = loop + 1; l < tile_begin(nest); ++l)
    if (nest.loops[l].axis == nest.loops[loop].axis) return true;
  return false;
}

// Inside the parallel loops: first the reductions that run outside the outputs (blocks of a long
// one, or all of them), then, where the loops over results are not `ordered` otherwise, the lanes'
// loop outside the rows' one, so that a panel of columns stays close while the rows pass.
Program order_outputs(Program program, size_t stage, const ReductionPlan& plan,
                      const Accesses& accesses, const Target& target, bool ordered,
                      Choices& choices) {
  const Stage& s = program.graph.stages[stage];
  const Nest& nest = nest_of(program, stage);
  if (!nest.attached.empty()) return program;
  auto first = static_cast<std::ptrdiff_t>(parallel_depth(nest));
  if (plan.reduction_outside)  // the parts of the split stay outermost
    while (nest.loops[static_cast<size_t>(first)].axis == 0) ++first;
  const auto end = static_cast<std::ptrdiff_t>(tile_begin(nest));
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin() + first, order.begin() + end, [&](size_t l) {
    const Loop& loop = nest.loops[l];
    return loop.axis >= s.domain.output_rank && (plan.reduction_outside || is_block(nest, l));
  });
  const std::optional<size_t> rows = rows_axis(s, plan.tile, accesses);
  for (auto k = first; rows && !ordered && plan.panels.empty() && k + 1 < end; ++k) {
    const Loop& outer = nest.loops[order[static_cast<size_t>(k)]];
    const Loop& inner = nest.loops[order[static_cast<size_t>(k + 1)]];
    if (outer.axis != *rows || inner.axis != *plan.tile.vector_axis) continue;
    const double bytes = row_bytes(s, plan.tile.factors[*rows] * outer.trips);
    if (bytes <= static_cast<double>(target.l2_bytes) * 0.75 &&
        choices.keeps(Decision::Order, program.graph, s))
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(k + 1)]);
    break;
  }
  return with_order(std::move(program), stage, order);
}

// The lanes' loop outside the rows' one: a panel is copied once for all rows.
Program panels_outside_rows(Program program, size_t stage, const TileChoice& tile,
                            const Accesses& accesses) {
  const Nest& nest = nest_of(program, stage);
  const std::optional<size_t> rows = rows_axis(program.graph.stages[stage], tile, accesses);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest));
  const auto of_axis = [&](size_t axis) {
    return std::find_if(order.begin(), end, [&](size_t l) { return nest.loops[l].axis == axis; });
  };
  const auto from = of_axis(*rows), to = of_axis(*tile.vector_axis);
  if (from < to && to != end) std::rotate(from, to, to + 1);
  return with_order(std::move(program), stage, order);
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

// Lanes and copies of a nest of the root's kernel, and the order of its reduction.
Program schedule_nest(Program program, size_t root, size_t stage, size_t task_loops,
                      const Target& target, ReductionPlan& plan) {
  const Stage& s = program.graph.stages[stage];
  const Accesses accesses = accesses_of(program.graph, s);
  if (stage != root && s.combiner.kind == CombinerKind::None)
    take_stored(program, nest_of(program, root), nest_of(program, stage), plan.tile);
  if (const auto axis = transposed_along(s, plan.tile, accesses))
    take_pieces(program.graph, nest_of(program, stage), *axis, task_loops, plan.tile);
  program = apply_tile(std::move(program), stage, plan.tile);
  if (program.graph.stages[stage].domain.reduction_rank() > 0)
    program = order_reductions(std::move(program), stage, accesses, target);
  return program;
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

double microseconds(double cycles, double bytes) { return std::max(cycles, bytes / 8) / 4300; }

Program run_in_parallel(Program program, size_t stage, double cycles, const TaskLimits& limits,
                        Choices& choices) {
  const Nest& nest = nest_of(program, stage);
  if (microseconds(cycles, bytes_moved(program, nest)) < kParallelFrom) return program;
  const size_t output_rank = program.graph.stages[stage].domain.output_rank;
  size_t output_loops = 0;
  while (output_loops < std::min(limits.loops, tile_begin(nest)) &&
         nest.loops[output_loops].axis < output_rank &&
         nest.loops[output_loops].axis != limits.serial_axis)
    ++output_loops;
  const int cores = std::max(program.cores, 2);
  const size_t answer = choices.pick(
      Decision::Tasks, program.graph, program.graph.stages[stage],
      [] { return std::vector<std::string>{"two a core", "one for all", "eight a core"}; });
  if (answer == 1) return program;
  Tasks tasks = choose_tasks(nest, output_loops, cores, answer == 2 ? 8 : limits.fewest,
                             limits.largest_chunk);
  // Where conditions on them bound the reduction, tasks differ in their work: more even it out.
  if (conditions_on(program.graph.stages[stage].domain, nest, tasks.loops))
    tasks = choose_tasks(nest, output_loops, cores, 16, limits.largest_chunk);
  if (tasks.loops == 0) return program;
  return make_tasks(std::move(program), stage, tasks);
}

Program schedule_attached(Program program, size_t root, const Target& target,
                          const ReductionPlans& plans, Choices& choices) {
  std::vector<size_t> stages;
  for_each_nest(nest_of(program, root), [&](const Nest& nest) {
    if (nest.stage != root) stages.push_back(nest.stage);
  });
  for (size_t s : stages) {
    ReductionPlan plan = plan_of(program, s, plans, 0, choices);
    program = schedule_nest(std::move(program), root, s, 0, target, plan);
  }
  return program;
}

Program schedule_kernel(Program program, size_t root_stage, const Target& target,
                        const ReductionPlans& plans, const TaskLoops& tasks,
                        const SharedTasks& shared, Choices& choices) {
  const auto settled = tasks.find(stage_key(program.graph.stages[root_stage]));
  const size_t task_loops = settled == tasks.end() ? 0 : settled->second;
  double cycles = 0;
  std::vector<size_t> stages;
  for_each_nest(nest_of(program, root_stage),
                [&](const Nest& nest) { stages.push_back(nest.stage); });
  const double iterations = attached_iterations(nest_of(program, root_stage));
  ReductionPlan root_plan;
  for (size_t s : stages) {
    const size_t own_tasks = s == root_stage ? task_loops : 0;
    ReductionPlan plan = plan_of(program, s, plans, own_tasks, choices);
    if (s == root_stage) divide_evenly(shared.points, plan.tile);
    cycles += (plan.tile.cycles - plan.tile.packing) * (s == root_stage ? 1 : iterations);
    program = schedule_nest(std::move(program), root_stage, s, own_tasks, target, plan);
    if (s == root_stage) root_plan = std::move(plan);
  }
  const Accesses accesses = accesses_of(program.graph, program.graph.stages[root_stage]);
  const std::optional<size_t> transposed =
      transposed_along(program.graph.stages[root_stage], root_plan.tile, accesses);
  int64_t largest_chunk =
      rows_in_cache(program.graph.stages[root_stage], root_plan.tile, accesses, target);
  std::optional<size_t> serial_axis;
  bool ordered = false;  // the loops over results
  if (root_plan.reads_much()) {
    program = panels_outside_rows(std::move(program), root_stage, root_plan.tile, accesses);
    serial_axis = rows_axis(program.graph.stages[root_stage], root_plan.tile, accesses);
    largest_chunk = INT64_MAX;
  }
  if (root_plan.task_points > 0) {
    program = share_tasks(std::move(program), root_stage, {true, root_plan.task_points});
  } else if (shared.first_axis) {
    program = share_tasks(std::move(program), root_stage, shared);
  } else if (task_loops > 0) {
    program = parallel(std::move(program), root_stage, task_loops);
  } else {
    if (!root_plan.reads_much() && !root_plan.reduction_outside) {
      OrderedResults results = order_results(std::move(program), root_stage, target, choices);
      program = std::move(results.program);
      ordered = results.moved;
      if (!ordered) {
        OrderedResults product =
            order_product(std::move(program), root_stage, root_plan.tile, target, choices);
        program = std::move(product.program);
        if (product.moved) largest_chunk = INT64_MAX;  // of columns: all rows stay in the cache
      }
    }
    if (transposed) program = walk_operand(std::move(program), root_stage, accesses);
    program = run_in_parallel(std::move(program), root_stage, cycles,
                              {root_plan.streamed_steps > 0 ? 1 : 2, largest_chunk, serial_axis},
                              choices);
  }
  if (transposed) return order_transposition(std::move(program), root_stage, *transposed);
  if (program.graph.stages[root_stage].domain.reduction_rank() == 0)
    return copy_in_chunks(std::move(program), root_stage, accesses);
  program = block_reduction(std::move(program), root_stage, root_plan, accesses);
  program =
      order_outputs(std::move(program), root_stage, root_plan, accesses, target, ordered, choices);
  if (root_plan.streamed_steps > 0)
    return stream_operand(std::move(program), root_stage, root_plan);
  program = sum_in_passes(std::move(program), root_stage, target, choices);
  program = sum_in_strips(std::move(program), root_stage, target, choices);
  return attach_panels(std::move(program), root_stage, root_plan);
}

}  // namespace adjit::sched
