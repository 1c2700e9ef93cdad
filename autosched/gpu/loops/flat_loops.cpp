// autosched/gpu/loops/flat_loops.cpp -- the loops of a kernel whose threads compute a few results
// each.
#include "autosched/gpu/loops/flat_loops.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segments.hpp"

namespace adjit::sched {
namespace {

// The loops of a nest by what may run at once: these first, each kind in its order.
std::vector<size_t> independent_first(const LoweredGraph& graph, const Nest& nest) {
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::ranges::stable_partition(order, [&](size_t l) {
    return is_independent(graph, graph.stages[nest.stage], nest.loops[l].axis);
  });
  return order;
}

// How many of the first loops may run in parallel; 0 where one of them has no trips.
size_t parallel_loops(const LoweredGraph& graph, const Nest& nest) {
  size_t count = 0;
  for (size_t end = tile_begin(nest); count < end; ++count) {
    const Loop& loop = nest.loops[count];
    if (loop.trips == 0) return 0;
    if (!is_independent(graph, graph.stages[nest.stage], loop.axis)) break;
  }
  return count;
}

// The axis along which a thread may compute neighbours: the last one of results, or that along
// which a scatter that goes through segments writes its rows.
std::optional<size_t> axis_of_lanes(const LoweredGraph& graph, const Stage& stage) {
  const std::optional<Segments> segments = segments_of(graph.pool, stage);
  size_t axis;
  if (stage.kind == StageKind::Compute) {
    if (running_of(graph, stage) || stage.domain.output_rank == 0) return std::nullopt;
    axis = stage.domain.output_rank - 1;
  } else {
    if (!segments || !graph.pool.is(stage.target.back(), Op::Axis)) return std::nullopt;
    axis = graph.pool.axis_number(stage.target.back());
    if (stage.domain.extents[axis] != graph.info(stage.results[0]).shape.back())
      return std::nullopt;
  }
  // Lanes would go through segments of their own.
  const bool tells_segments = segments && (uses(graph.pool, segments->begin, axis) ||
                                           uses(graph.pool, segments->end, axis));
  return tells_segments ? std::nullopt : std::optional(axis);
}

double threads_enough(const GpuMachine& machine) {
  return static_cast<double>(machine.multiprocessors) * machine.threads / 2;
}

// Results that go through the same segment, of one thread: what names its places, and what else is
// the same for all of them, is read once. Along an axis that lanes do not take.
Lanes segment_copies(const LoweredGraph& graph, const Stage& stage, const GpuMachine& machine) {
  constexpr int64_t kMostCopies = 8;  // accumulators: a guess, no GPU has run these kernels yet
  const std::optional<Segments> segments = segments_of(graph.pool, stage);
  if (!segments || stage.kind != StageKind::Compute) return {};
  double results = 1;
  Lanes found;
  for (size_t a = 0; a < stage.domain.output_rank; ++a) {
    const int64_t extent = stage.domain.extents[a];
    results *= static_cast<double>(extent);
    if (uses(graph.pool, segments->begin, a) || uses(graph.pool, segments->end, a)) continue;
    for (int64_t count = kMostCopies; count > 1; count /= 2)
      if (extent % count == 0 && count > found.count) found = {a, count};
  }
  return results >= threads_enough(machine) * static_cast<double>(found.count) ? found : Lanes{};
}

}  // namespace

Lanes thread_lanes(const Program& program, size_t stage, const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  const Stage& s = graph.stages[stage];
  const std::optional<size_t> axis = axis_of_lanes(graph, s);
  if (!axis) return {};
  const int64_t lanes = lanes_along(graph, s, *axis, s.domain.extents[*axis]);
  double results = 1;
  for (size_t a = 0; a <= *axis; ++a) results *= static_cast<double>(s.domain.extents[a]);
  const double threads = results / static_cast<double>(lanes);
  return threads < threads_enough(machine) ? Lanes{} : Lanes{*axis, lanes};
}

Program flat_loops(Program program, size_t stage, const GpuMachine& machine, Choices& choices) {
  Lanes lanes = thread_lanes(program, stage, machine);
  if (lanes.count > 1 &&
      !choices.keeps(Decision::ThreadLanes, program.graph, program.graph.stages[stage]))
    lanes = {};
  const std::vector<size_t> order = independent_first(program.graph, nest_of(program, stage));
  program = with_order(std::move(program), stage, order);
  const Lanes copies = lanes.count > 1
                           ? Lanes{}
                           : segment_copies(program.graph, program.graph.stages[stage], machine);
  if (lanes.count > 1) program = vectorize(std::move(program), stage, lanes.axis, lanes.count);
  if (copies.count > 1) program = unroll(std::move(program), stage, copies.axis, copies.count);
  const size_t loops = parallel_loops(program.graph, nest_of(program, stage));
  return loops > 0 ? parallel(std::move(program), stage, loops) : std::move(program);
}

}  // namespace adjit::sched
