// autosched/moves/loops.cpp -- moves that change one nest: tile, reorder, vectorize, unroll,
// parallel, threads, stream.
#include <algorithm>
#include <bit>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/winners.hpp"

namespace adjit::sched {
namespace {

// The innermost serial loop over an axis, outside the tile and, where there are any, thread loops.
size_t innermost_serial(const Move& move, const Nest& nest, size_t axis) {
  move.require(axis < move.stage_ref().domain.rank(), "the stage has no such axis");
  bool threads = false;
  for (size_t l = nest.loops.size(); l-- > 0;) {
    const Loop& loop = nest.loops[l];
    if (loop.axis != axis || in_tile(loop)) continue;
    threads |= loop.kind == LoopKind::Thread;
    if (loop.kind == LoopKind::Thread) continue;
    move.require(loop.kind == LoopKind::Serial, threads
                                                    ? "the axis has only parallel and thread loops"
                                                    : "the axis has only parallel loops");
    return l;
  }
  if (threads) move.refuse("the axis has only thread loops");
  move.refuse("the axis has no loop left outside the register tile");
}

// The same for what goes into the tile: there is no thread loop between.
size_t innermost_for_tile(const Move& move, const Nest& nest, size_t axis) {
  const size_t found = innermost_serial(move, nest, axis);
  for (size_t l = found; l < nest.loops.size(); ++l)
    move.require(nest.loops[l].axis != axis || nest.loops[l].kind != LoopKind::Thread,
                 "the axis' innermost loop outside the register tile goes to threads");
  return found;
}

// Copies and lanes multiply: what registers do not hold goes through memory, and compiles slowly.
void require_small_tile(const Move& move, const Nest& nest) {
  int64_t copies = 1, lanes = 1;
  for (size_t l = tile_begin(nest); l < nest.loops.size(); ++l)
    (nest.loops[l].kind == LoopKind::Vector ? lanes : copies) *= nest.loops[l].trips;
  if (copies > kTileCopyLimit || copies * lanes > kTilePointLimit)
    move.refuse("the register tile would have " + std::to_string(copies) + " copies of " +
                std::to_string(lanes) + " lanes; at most " + std::to_string(kTileCopyLimit) +
                " copies and " + std::to_string(kTilePointLimit) + " points are computed together");
}

void require_not_ahead(const Move& move, const Nest& nest, const Loop& loop) {
  move.require(nest.ahead != loop.variable,
               "the nest fetches what the loop's next iteration reads");
}

// The same, and nothing that is attached to the nest does.
void require_none_ahead(const Move& move, const Nest& nest, const Loop& loop) {
  for (const Nest::Attached& attached : nest.attached)
    move.require(attached.nest.ahead != loop.variable,
                 "a nest in the loop fetches what its next iteration reads");
  require_not_ahead(move, nest, loop);
}

void require_order(const Move& move, const Nest& nest) {
  move.require(order_is_legal(move.program.graph, move.stage_ref(), nest),
               "its combiner takes the reduction in order");
}

// Moves loop `from` to position `to` >= from; nests attached between would lose it.
void move_inwards(const Move& move, Nest& nest, size_t from, size_t to) {
  for (const Nest::Attached& attached : nest.attached)
    move.require(attached.depth <= from, "a nest is attached inside the loop that would move");
  std::rotate(nest.loops.begin() + static_cast<long>(from),
              nest.loops.begin() + static_cast<long>(from + 1),
              nest.loops.begin() + static_cast<long>(to + 1));
}

// Splits loop l into one of these steps and one inside it, whose position it gives. `what`: names
// the steps, which those of the loops outside must be multiples of.
size_t split_inside(const Move& move, Program& program, const NestPath& path, size_t l,
                    int64_t step, const char* what) {
  Nest& nest = nest_at(program, path);
  for (size_t outer = 0; outer < l; ++outer)
    if (nest.loops[outer].axis == nest.loops[l].axis && nest.loops[outer].step % step != 0)
      move.refuse("the outer loop's step must be a multiple of the " + std::string(what));
  move.split(nest, program.kernels[path.kernel].variable_count, l, step);
  return l + 1;
}

// `any`: of partial results that are combined in any order.
void require_reducible(const Move& move, size_t axis, bool any = false) {
  const Stage& stage = move.stage_ref();
  if (const Running* running = running_of(move.program.graph, stage);
      running && running->axis == axis && !std::holds_alternative<GpuMachine>(move.program.target))
    move.refuse("the reduction runs on along this axis");
  if (stage.kind == StageKind::Scatter) return;
  if (any && tells_order(move.program.graph, stage)) return;
  if (axis >= stage.domain.output_rank && !has_partial_results(stage.combiner.kind))
    move.refuse("the combiner " + std::string(name_of(stage.combiner.kind)) +
                " keeps one accumulator, its reduction axes stay serial");
}

}  // namespace

Program tile(Program program, size_t stage, size_t axis, std::span<const int64_t> steps) {
  const Move move = begin_move("tile", program, stage);
  const NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  size_t l = innermost_serial(move, nest, axis);
  // Inside the first loop that takes larger steps than these.
  for (size_t outer = l; outer-- > 0 && !steps.empty();)
    if (const Loop& loop = nest.loops[outer];
        loop.axis == axis && loop.kind == LoopKind::Serial && loop.step < steps.back())
      l = outer;
  for (size_t k = 0; k < steps.size(); ++k) {
    const int64_t below = k + 1 < steps.size() ? steps[k + 1] : nest.loops[l].step;
    move.require(steps[k] > 0 && below > 0 && steps[k] % below == 0 &&
                     (steps[k] > below || k + 1 == steps.size()),
                 "each step must be a larger multiple of the next");
    move.require(steps[k] - below < std::max(nest.spans[axis], kStepLimit),
                 "a step goes too far past the axis");
    if (k == 0 && l > 0)
      for (size_t outer = 0; outer < l; ++outer)
        move.require(nest.loops[outer].axis != axis || nest.loops[outer].step % steps[0] == 0,
                     "the outer loop's step must be a multiple of the first step");
  }
  for (int64_t step : steps)
    move.split(nest, program.kernels[path.kernel].variable_count, l++, step);
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"axis", axis}, {"steps", steps}});
  return program;
}

Program reorder(Program program, size_t stage, std::span<const size_t> order) {
  const Move move = begin_move("reorder", program, stage);
  const NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  const size_t count = nest.loops.size();
  move.require(order.size() == count, "the order must name every loop once");
  std::vector<size_t> position(count, count);
  std::vector<Loop> loops;
  for (size_t k = 0; k < count; ++k) {
    move.require(order[k] < count && position[order[k]] == count,
                 "the order must name every loop once");
    position[order[k]] = k;
    loops.push_back(nest.loops[order[k]]);
  }
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a + 1; b < count; ++b)
      move.require(nest.loops[a].axis != nest.loops[b].axis || position[a] < position[b],
                   "the loops of one axis keep their order");
  const auto rank = [](const Loop& loop) {
    return loop.kind == LoopKind::Parallel   ? 0
           : loop.kind == LoopKind::Unrolled ? 2
           : loop.kind == LoopKind::Vector   ? 3
                                             : 1;
  };
  for (size_t k = 1; k < count; ++k)
    move.require(rank(loops[k - 1]) <= rank(loops[k]),
                 "parallel loops stay outside serial and thread loops, the register tile inside");
  for (const Nest::Attached& attached : nest.attached)
    for (size_t k = 0; k < attached.depth; ++k)
      move.require(order[k] < attached.depth,
                   "a nest attached here would get other loops around it");
  nest.loops = std::move(loops);
  require_order(move, nest);
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"order", order}});
  return program;
}

Program with_order(Program program, size_t stage, std::span<const size_t> order) {
  if (std::ranges::is_sorted(order)) return program;
  return reorder(std::move(program), stage, order);
}

Program vectorize(Program program, size_t stage, size_t axis, int64_t lanes) {
  const Move move = begin_move("vectorize", program, stage);
  move.require(
      lanes >= 2 && lanes <= kLaneLimit && std::has_single_bit(static_cast<uint64_t>(lanes)),
      "the lanes must be a power of two, 2 to 64");
  const NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  for (const Loop& loop : nest.loops)
    move.require(loop.kind != LoopKind::Vector, "the nest has a vector loop already");
  require_reducible(move, axis);
  size_t l = innermost_for_tile(move, nest, axis);
  move.require(nest.loops[l].step == 1, "the axis' innermost loop is in the register tile already");
  if (nest.loops[l].trips > lanes) {
    l = split_inside(move, program, path, l, lanes, "lanes");
  } else {
    move.require(nest.loops[l].trips == lanes || loops_over(nest, axis).size() == 1,
                 "the axis' innermost loop is shorter than the lanes");
    nest.loops[l].trips = lanes;
  }
  require_not_ahead(move, nest, nest.loops[l]);
  nest.loops[l].kind = LoopKind::Vector;
  move_inwards(move, nest, l, nest.loops.size() - 1);
  require_small_tile(move, nest);
  require_order(move, nest);
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"axis", axis}, {"lanes", lanes}});
  return program;
}

Program unroll(Program program, size_t stage, size_t axis, int64_t factor) {
  const Move move = begin_move("unroll", program, stage);
  move.require(factor >= 2 && factor <= kUnrollLimit, "the factor must be 2 to 64");
  const NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  for (const Loop& loop : nest.loops)
    move.require(loop.axis != axis || loop.kind != LoopKind::Unrolled,
                 "the axis is unrolled already");
  size_t l = innermost_for_tile(move, nest, axis);
  const int64_t step = nest.loops[l].step * factor;
  move.require(nest.loops[l].trips >= factor, "the loop has fewer trips than the factor");
  if (nest.loops[l].trips > factor) l = split_inside(move, program, path, l, step, "tile");
  require_not_ahead(move, nest, nest.loops[l]);
  nest.loops[l].kind = LoopKind::Unrolled;
  const bool vector = nest.loops.back().kind == LoopKind::Vector;
  move_inwards(move, nest, l, nest.loops.size() - (vector ? 2 : 1));
  require_small_tile(move, nest);
  require_order(move, nest);
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"axis", axis}, {"factor", factor}});
  return program;
}

Program store_nontemporal(Program program, size_t stage) {
  const Move move = begin_move("store_nontemporal", program, stage);
  move.require(
      move.stage_ref().kind == StageKind::Compute && !running_of(program.graph, move.stage_ref()),
      "it reads what it has stored");
  move.require(program.scopes[move.stage_ref().results.front().value] != Scope::Local,
               "its results are in a buffer of the kernel");
  Nest& nest = nest_at(program, move.path());
  move.require(!nest.streamed, "it is streamed already");
  nest.streamed = true;
  move.record(Json::object());
  return program;
}

Program prefetch(Program program, size_t stage, std::optional<size_t> axis) {
  const Move move = begin_move("prefetch", program, stage);
  NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  move.require(!nest.ahead, "it fetches ahead already");
  if (axis) {
    move.require(*axis < move.stage_ref().domain.output_rank, "that is no output axis");
    nest.ahead = nest.loops[innermost_serial(move, nest, *axis)].variable;
    move.record({{"axis", *axis}});
    return program;
  }
  move.require(!path.steps.empty(), "it is not attached");
  const size_t attached = path.steps.back();
  path.steps.pop_back();
  const Nest& host = nest_at(program, path);
  const Loop& around = host.loops[host.attached[attached].depth - 1];
  move.require(around.kind == LoopKind::Serial, "the loop that it is attached in is not serial");
  nest.ahead = around.variable;
  move.record(Json::object());
  return program;
}

Program parallel(Program program, size_t stage, size_t loops) {
  const Move move = begin_move("parallel", program, stage);
  const NestPath path = move.path();
  move.require(path.steps.empty(), "only the root of a kernel runs in parallel");
  Nest& nest = nest_at(program, path);
  move.require(loops >= 1 && loops <= tile_begin(nest),
               "there are not so many loops outside the tile");
  for (size_t l = 0; l < loops; ++l) {
    move.require(nest.loops[l].kind == LoopKind::Serial, "the loop is not serial");
    move.require(is_independent(program.graph, move.stage_ref(), nest.loops[l].axis) ||
                     goes_on_in_memory(program.graph, move.stage_ref(), nest.loops[l].axis),
                 "its combiner has no partial results that a task could leave to the next one");
    require_none_ahead(move, nest, nest.loops[l]);
    nest.loops[l].kind = LoopKind::Parallel;
  }
  for (const Nest::Attached& attached : nest.attached) {
    const TensorId result = program.graph.stages[attached.nest.stage].results.front();
    move.require(program.scopes[result.value] == Scope::Local ||
                     tasks_sharing(program, nest, attached.depth) == 1,
                 "several tasks would store what a nest between the loops does");
  }
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"loops", loops}});
  return program;
}

Program threads(Program program, size_t stage, size_t axis, int64_t count) {
  const Move move = begin_move("threads", program, stage);
  const NestPath path = move.path();
  Nest& nest = nest_at(program, path);
  size_t l = innermost_serial(move, nest, axis);
  require_reducible(move, axis, true);
  const Loop& loop = nest.loops[l];
  move.require(count >= 1 && count <= loop.trips, "the loop has fewer trips than that");
  if (loop.trips > count)
    l = split_inside(move, program, path, l, checked_mul(loop.step, count), "threads' steps");
  require_none_ahead(move, nest, nest.loops[l]);
  nest.loops[l].kind = LoopKind::Thread;
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"axis", axis}, {"count", count}});
  return program;
}

}  // namespace adjit::sched
