// autosched/gpu/loops/running_loops.cpp -- which threads run on along a row, and how many rows.
#include "autosched/gpu/loops/running_loops.hpp"

#include <algorithm>
#include <vector>

#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: all numbers are guesses, but for that of threads, of which a
// kernel written by hand had as many and reached 0.94 of the copy (4096 x 65536, measured).
constexpr int64_t kShortRow = 32;      // points along which one thread runs on as well
constexpr int64_t kRowThreads = 256;   // of a block that runs on along one row
constexpr int64_t kLongRow = 1 << 15;  // points of rows so few that a block has all its threads
constexpr double kFewRows = 128;

// The innermost axis of which a block may take several iterations.
std::optional<size_t> axis_of_rows(const Stage& stage, size_t running) {
  for (size_t a = stage.domain.output_rank; a-- > 0;)
    if (a != running && stage.domain.extents[a] > 1) return a;
  return std::nullopt;
}

}  // namespace

std::optional<RunningThreads> running_threads_of(const LoweredGraph& graph, const Stage& stage) {
  const Running* running = running_of(graph, stage);
  if (!running || !has_partial_results(stage.combiner.kind)) return std::nullopt;
  const int64_t extent = stage.domain.extents[running->axis];
  if (extent < kShortRow || contiguous_axis(graph, stage) != running->axis) return std::nullopt;
  RunningThreads found;
  found.lanes = lanes_along(graph, stage, running->axis, extent);
  if (extent / found.lanes < kWarpThreads) found.lanes = 1;
  const double rows = box_points(stage.domain) / static_cast<double>(extent);
  const int64_t most = rows < kFewRows && extent >= kLongRow ? 4 * kRowThreads : kRowThreads;
  const double wanted = static_cast<double>(extent) / static_cast<double>(found.lanes);
  found.threads = std::min(most, power_below(wanted));
  // Rows of a warp's threads are taken several at a time: nothing goes through shared memory.
  if (2 * found.threads < kRowThreads) {
    found.threads = kWarpThreads;
    if (const std::optional<size_t> axis = axis_of_rows(stage, running->axis))
      found.rows = std::min(kRowThreads / kWarpThreads,
                            power_below(static_cast<double>(stage.domain.extents[*axis])));
  }
  return found;
}

Program running_loops(Program program, size_t root, const RunningThreads& threads) {
  const size_t running = running_of(program.graph, program.graph.stages[root])->axis;
  const std::optional<size_t> rows =
      threads.rows > 1 ? axis_of_rows(program.graph.stages[root], running) : std::nullopt;
  if (threads.lanes > 1) program = vectorize(std::move(program), root, running, threads.lanes);
  program = sched::threads(std::move(program), root, running, threads.threads);
  if (rows) program = sched::threads(std::move(program), root, *rows, threads.rows);
  // Tasks first: all loops outside those of threads and along the axis.
  const Nest& nest = nest_of(program, root);
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  const auto inside = std::ranges::stable_partition(order, [&](size_t l) {
    return nest.loops[l].axis != running && nest.loops[l].kind == LoopKind::Serial;
  });
  const auto tasks = static_cast<size_t>(inside.begin() - order.begin());
  program = with_order(std::move(program), root, order);
  return tasks > 0 ? parallel(std::move(program), root, tasks) : std::move(program);
}

}  // namespace adjit::sched
