// autosched/cpu/passes/fuse_epilogue.cpp -- which stage it is, and the loops of both.
#include "autosched/cpu/passes/fuse_epilogue.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// A product of two matrices, batches of them, a convolution of few channels: any short sum.
bool is_product(const Program& program, size_t s) {
  const LoweredGraph& graph = program.graph;
  const Stage& stage = graph.stages[s];
  const Domain& domain = stage.domain;
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         is_product_sum(graph, stage) && domain.is_box() && domain.output_rank >= 2 &&
         domain.reduction_rank() >= 1 && is_short_sum(domain) &&
         box_points(domain) >= thresholds().large_stage * std::max(1.0, terms_of(domain)) &&
         program.scopes[stage.results.front().value] == Scope::Workspace;
}

// Of what a row of tiles walks in the lanes, each time: epilogues go along rows, as memory does.
int64_t lanes_bytes(const Program& program, size_t product) {
  const Stage& stage = program.graph.stages[product];
  const std::vector<int64_t>& extents = stage.domain.extents;
  return extents[stage.domain.output_rank - 1] * extents.back() *
         static_cast<int64_t>(size_of(program.graph.info(stage.results.front()).dtype));
}

// Whether a read is of the stage's own point: 0 is that of an axis of one.
bool is_same_point(const ExprPool& pool, ExprId read, const Domain& domain) {
  const std::span<const ExprId> index = pool.read_index(read);
  for (size_t k = 0; k < index.size(); ++k) {
    if (pool.is(index[k], Op::Axis) && pool.axis_number(index[k]) == k) continue;
    if (domain.extents[k] != 1 || pool.int_value(index[k]) != 0) return false;
  }
  return true;
}

// Whether the stage takes the product's results point by point, and can be computed in its lanes.
bool takes_each_once(const Program& program, size_t reader, size_t product) {
  const LoweredGraph& graph = program.graph;
  const Stage &stage = graph.stages[reader], &made = graph.stages[product];
  if (stage.kind != StageKind::Compute || running_of(graph, stage) ||
      stage.combiner.kind != CombinerKind::None || !stage.domain.is_box())
    return false;
  const std::vector<int64_t>& extents = stage.domain.extents;
  if (!std::ranges::equal(extents, std::span(made.domain.extents).first(made.domain.output_rank)))
    return false;
  for (ExprId read : reads_of(graph, stage)) {
    if (graph.pool.read_tensor(read) != made.results.front()) continue;
    if (graph.pool.read_predicate(read).valid() || !is_same_point(graph.pool, read, stage.domain))
      return false;
  }
  if (WorkMeter(graph.pool)(stage.bodies).cost > thresholds().near_store_cost) return false;
  const size_t lanes = made.domain.output_rank - 1;
  const Accesses accesses = accesses_of(graph, stage);
  return accesses.result.contiguous(lanes) &&
         std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
           return !access.depends_on(lanes) || access.contiguous(lanes);
         });
}

bool is_plain_root(const Program& program, size_t s) {
  const std::optional<NestPath> path = find_nest(program, s);
  if (!path || !path->steps.empty()) return false;
  const Nest& nest = nest_at(program, *path);
  return nest.attached.empty() && parallel_depth(nest) == 0 &&
         tile_begin(nest) == nest.loops.size();
}

TileChoice tile_of(const Program& program, size_t product, const ReductionPlans& plans,
                   Choices& choices) {
  const Stage& stage = program.graph.stages[product];
  const auto planned = plans.find(stage_key(stage));
  if (planned != plans.end()) return planned->second.tile;
  const Accesses accesses = accesses_of(program.graph, stage);
  const TileProblem problem{program.graph,          stage, accesses, stage.domain.extents,
                            cpu_of(program.target), 0,     false,    program.calls};
  return choose_tile(problem, choices, Decision::Tile);
}

// Points of an output axis in a tile.
int64_t tile_points(const TileChoice& tile, size_t axis) {
  return tile.factors[axis] * (axis == *tile.vector_axis ? tile.lanes : 1);
}

// Loops over tiles first, then those inside one; how many the former are.
std::pair<std::vector<size_t>, size_t> tiles_first(const Nest& nest, const TileChoice& tile) {
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto inside = std::ranges::stable_partition(order, [&](size_t l) {
    const Loop& loop = nest.loops[l];
    return loop.step >= tile_points(tile, loop.axis);
  });
  return {order, static_cast<size_t>(inside.begin() - order.begin())};
}

}  // namespace

bool is_short_sum(const Domain& domain) {
  return terms_of(domain) <=
         (domain.reduction_rank() > 1 ? thresholds().many_terms : thresholds().short_sum);
}

std::optional<size_t> epilogue_of(const Program& program, size_t product, const CpuMachine& machine,
                                  const ReductionPlans& plans, const TaskLoops& tasks,
                                  Choices& choices) {
  if (!is_product(program, product) || !is_plain_root(program, product) ||
      lanes_bytes(program, product) > machine.l2_bytes / 2)
    return std::nullopt;
  const Stage& stage = program.graph.stages[product];
  const uint32_t result = stage_key(stage);
  const auto planned = plans.find(result);
  if (tasks.contains(result) || (planned != plans.end() && (planned->second.reads_much() ||
                                                            planned->second.reduction_outside ||
                                                            planned->second.task_points > 0)))
    return std::nullopt;
  const std::vector<size_t>& readers = program.readers[result];
  if (readers.empty()) return std::nullopt;
  const size_t reader = readers.front();
  const uint32_t made = stage_key(program.graph.stages[reader]);
  if (tasks.contains(made) || plans.contains(made) || !is_plain_root(program, reader) ||
      !takes_each_once(program, reader, product))
    return std::nullopt;
  const TileChoice tile = tile_of(program, product, plans, choices);
  if (tile.vector_axis != stage.domain.output_rank - 1) return std::nullopt;
  if (!choices.keeps(Decision::Epilogue, program.graph, stage)) return std::nullopt;
  return reader;
}

Program schedule_epilogue(Program program, size_t product, size_t epilogue,
                          const ReductionPlans& plans, Choices& choices) {
  const TileChoice tile = tile_of(program, product, plans, choices);
  const size_t lanes = *tile.vector_axis;
  const int64_t extent = program.graph.stages[epilogue].domain.extents[lanes];
  for (size_t a = 0; a <= lanes; ++a) {
    const int64_t steps[] = {tile_points(tile, a)};
    if (steps[0] > 1 && steps[0] < program.graph.stages[epilogue].domain.extents[a])
      program = sched::tile(std::move(program), epilogue, a, steps);
  }
  const auto [order, depth] = tiles_first(nest_of(program, epilogue), tile);
  program = with_order(std::move(program), epilogue, order);
  program = compute_at(std::move(program), product, epilogue, depth);
  TileChoice own;
  own.vector_axis = lanes;
  own.lanes = tile.lanes;
  own.factors.assign(lanes + 1, 1);
  if (tile_points(tile, lanes) <= extent) own.factors[lanes] = tile.factors[lanes];
  program = apply_tile(std::move(program), epilogue, own);
  program = apply_tile(std::move(program), product, tile);
  TaskLimits limits;
  limits.loops = depth;
  return run_in_parallel(std::move(program), epilogue, tile.cycles, limits, choices);
}

}  // namespace adjit::sched
