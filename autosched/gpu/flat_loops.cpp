// autosched/gpu/flat_loops.cpp -- the loops of a kernel whose threads compute a few results each.
#include "autosched/gpu/flat_loops.hpp"

#include <algorithm>
#include <vector>

#include "autosched/gpu/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

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

}  // namespace

int64_t thread_lanes(const Program& program, size_t stage, const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  const Stage& s = graph.stages[stage];
  if (s.kind != StageKind::Compute || running_of(graph, s) || s.domain.output_rank == 0) return 1;
  const size_t axis = s.domain.output_rank - 1;
  const int64_t lanes = lanes_along(graph, s, axis, s.domain.extents[axis]);
  double results = 1;
  for (size_t a = 0; a <= axis; ++a) results *= static_cast<double>(s.domain.extents[a]);
  const double threads = results / static_cast<double>(lanes);
  return 2 * threads < static_cast<double>(machine.multiprocessors) * machine.threads ? 1 : lanes;
}

Program flat_loops(Program program, size_t stage, const GpuMachine& machine) {
  const int64_t lanes = thread_lanes(program, stage, machine);
  const std::vector<size_t> order = independent_first(program.graph, nest_of(program, stage));
  program = with_order(std::move(program), stage, order);
  if (lanes > 1) {
    const size_t axis = program.graph.stages[stage].domain.output_rank - 1;
    program = vectorize(std::move(program), stage, axis, lanes);
  }
  const size_t loops = parallel_loops(program.graph, nest_of(program, stage));
  return loops > 0 ? parallel(std::move(program), stage, loops) : std::move(program);
}

}  // namespace adjit::sched
