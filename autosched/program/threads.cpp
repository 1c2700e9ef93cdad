// autosched/program/threads.cpp -- the threads of a block, as the tree of nests has them.
#include "autosched/program/threads.hpp"

#include <algorithm>
#include <bit>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/winners.hpp"

namespace adjit::sched {
namespace {

bool is_thread(const Loop& loop) { return loop.kind == LoopKind::Thread; }

bool is_reduction(const Stage& stage, const Loop& loop) {
  return loop.axis >= stage.domain.output_rank;
}

bool is_serial_reduction(const Stage& stage, const Loop& loop) {
  return loop.kind == LoopKind::Serial && is_reduction(stage, loop);
}

// Where what a nest reads along an axis lies, seen from its register tiles.
enum class TileReads : uint8_t {
  Buffers,  // all of it in buffers that are filled for whole tiles
  Others,   // some elsewhere, where nothing is past the end
  Partial,  // some in a buffer of its own that is filled for less than whole tiles
};

TileReads reads_of_tiles(const Program& program, const Nest& nest, size_t axis) {
  const LoweredGraph& graph = program.graph;
  const ExprPool& pool = graph.pool;
  const int64_t points = points_of_threads(nest, axis);
  const auto uses_axis = [&](ExprId expr) { return expr.valid() && uses(pool, expr, axis); };
  const auto place_of = [&](TensorId tensor, ExprId index, size_t dimension) {
    for (const Nest::Attached& attached : nest.attached) {
      const std::vector<TensorId>& results = graph.stages[attached.nest.stage].results;
      if (std::ranges::find(results, tensor) == results.end() ||
          program.scopes[tensor.value] != Scope::Local)
        continue;
      const bool whole = pool.is(index, Op::Axis) &&
                         graph.info(tensor).shape[dimension] % points == 0 &&
                         attached.nest.spans[dimension] % points == 0;
      return whole ? TileReads::Buffers : TileReads::Partial;
    }
    return TileReads::Others;
  };
  TileReads all = TileReads::Buffers;
  for (ExprId read : reads_of(graph, graph.stages[nest.stage])) {
    if (uses_axis(pool.read_predicate(read))) all = std::max(all, TileReads::Others);
    const std::span<const ExprId> index = pool.read_index(read);
    for (size_t d = 0; d < index.size(); ++d)
      if (uses_axis(index[d])) all = std::max(all, place_of(pool.read_tensor(read), index[d], d));
  }
  return all;
}

const char* fault_of_cooperation(const Program& program, const Nest& nest) {
  const Stage& stage = program.graph.stages[nest.stage];
  size_t begin = first_thread_loop(nest);
  for (size_t l = begin; l < tile_begin(nest); ++l)
    if (!is_thread(nest.loops[l]) && !is_serial_reduction(stage, nest.loops[l]))
      return "threads reduce together, and inside their first loop another one than over the "
             "reduction is serial";
  while (begin > 0 && is_serial_reduction(stage, nest.loops[begin - 1])) --begin;
  for (size_t l = 0; l < begin; ++l)
    if (is_reduction(stage, nest.loops[l]))
      return "threads reduce together, and a loop over the reduction does not stand directly "
             "outside theirs";
  const bool is_stored = program.scopes[stage.results.front().value] != Scope::Local;
  for (size_t axis = 0; axis < stage.domain.output_rank; ++axis) {
    if (!takes_whole_tiles(stage, nest, axis)) continue;
    if (!is_stored || nest.spans[axis] != stage.domain.extents[axis])
      return "threads reduce together, and their register tiles do not divide an output axis of "
             "what is computed in another nest's loops";
    if (reads_of_tiles(program, nest, axis) == TileReads::Partial)
      return "threads reduce together, and their register tiles reach past what is computed for "
             "them";
  }
  return nullptr;
}

// Of a running reduction's nest in which points of its axis are combined at once, or in whose
// kernel there are Thread loops.
const char* fault_of_running(const Program& program, const Running& running, const Nest& nest) {
  const Stage& stage = program.graph.stages[nest.stage];
  if (!runs_together(running, nest))
    return "kernels of running reductions have no thread loops but with one along which they run "
           "on";
  if (!std::holds_alternative<GpuMachine>(program.target))
    return "it runs on along an axis whose loops are not serial, and a processor's are";
  if (!has_partial_results(stage.combiner.kind))
    return "it runs on, and its combiner has no partial results";
  if (!nest.attached.empty())
    return "it runs on in threads, and something is computed in its loops";
  const int64_t threads = threads_together(running, nest);
  if (!std::has_single_bit(static_cast<uint64_t>(threads)))
    return "it runs on in threads, whose number is no power of two";
  size_t own = 0, tile_of_others = 0;
  for (size_t l = 0; l < nest.loops.size(); ++l) {
    const bool runs = nest.loops[l].axis == running.axis;
    own += is_thread(nest.loops[l]) && runs;
    tile_of_others += l >= tile_begin(nest) && !runs;
  }
  if (own > 1 || tile_of_others > 0)
    return "it runs on in threads: one loop over the axis is theirs, and nothing but it in the "
           "register tile";
  if (threads > kWarpThreads && threads != threads_of(nest))
    return "it runs on in the threads of several warps, and there are other thread loops";
  return nullptr;
}

// Of a nest that has Thread loops.
const char* fault_of_loops(const Program& program, const Nest& nest) {
  const Stage& stage = program.graph.stages[nest.stage];
  const auto* machine = std::get_if<GpuMachine>(&program.target);
  if (!machine) return "it has thread loops, and a processor runs no blocks of threads";
  int64_t threads = 1;
  for (const Loop& loop : nest.loops) {
    if (!is_thread(loop)) continue;
    if (loop.trips < 1) return "a thread loop has no trips";
    if (loop.trips > machine->block_threads / threads)
      return "it has more threads than a block may have";
    threads *= loop.trips;
    if (is_reduction(stage, loop) && !threads_may_reduce(program.graph, stage))
      return "its combiner keeps one accumulator: no thread loops over the reduction";
  }
  return is_cooperative(stage, nest) ? fault_of_cooperation(program, nest) : nullptr;
}

// Whether accumulators are kept around what is attached, and a reduction loop outside of them goes
// on from what they have stored: threads that only wait would read it, too.
bool goes_on_around_attached(const Stage& stage, const Nest& nest) {
  if (nest.attached.empty() || std::ranges::any_of(nest.loops, is_thread)) return false;
  size_t begin = tile_begin(nest);
  while (begin > 0 && is_serial_reduction(stage, nest.loops[begin - 1])) --begin;
  if (begin >= nest.attached.back().depth) return false;
  return std::any_of(nest.loops.begin(), nest.loops.begin() + static_cast<long>(begin),
                     [&](const Loop& loop) { return is_reduction(stage, loop); });
}

// Of a nest of which several buffers are there, attached to a host that `by` runs.
const char* fault_of_buffers(const Program& program, const Kernel& kernel, const Nest& host,
                             const Nest::Attached& attached, RunBy by) {
  const Nest& nest = attached.nest;
  const Stage& stage = program.graph.stages[nest.stage];
  if (by != RunBy::Block || attached.depth > first_thread_loop(host) ||
      host.loops[attached.depth - 1].kind != LoopKind::Serial)
    return "it has several buffers, and no serial loop of its block directly around it";
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
      !nest.attached.empty())
    return "it has several buffers, and reduces, or something is computed in its loops";
  if (program.scopes[stage.results.front().value] != Scope::Local)
    return "it has several buffers, and its result is no local one";
  const Loop& around = host.loops[attached.depth - 1];
  const std::vector<size_t> loops = loops_over(host, around.axis);
  if (host.spans[around.axis] % around.step != 0 && loops.back() >= tile_begin(host) &&
      std::ranges::none_of(loops,
                           [&](size_t l) { return l >= attached.depth && l < tile_begin(host); }))
    return "it has several buffers, and the loop around it does not step over whole tiles";
  bool reads_here = false;
  const std::vector<TensorId> reads = tensors_read(program.graph, stage);
  for_each_nest(kernel.root, [&](const Nest& other) {
    for (TensorId id : program.graph.stages[other.stage].results)
      reads_here |= std::ranges::find(reads, id) != reads.end();
  });
  if (reads_here) return "it has several buffers, and reads what its kernel computes";
  for (const Nest::Attached& beside : host.attached)
    if (beside.depth == attached.depth && beside.nest.buffers > 1 &&
        beside.nest.buffers != nest.buffers)
      return "it has another number of buffers than one beside it";
  return nullptr;
}

std::optional<ThreadFault> fault_below(const Program& program, const Kernel& kernel,
                                       const Nest& nest, RunBy by) {
  if (std::ranges::any_of(nest.loops, is_thread)) {
    if (by == RunBy::Thread)
      return ThreadFault{nest.stage, "it is computed inside thread loops and has some itself"};
    if (const char* what = fault_of_loops(program, nest)) return ThreadFault{nest.stage, what};
  }
  if (by == RunBy::Block && goes_on_around_attached(program.graph.stages[nest.stage], nest))
    return ThreadFault{nest.stage,
                       "it goes on from partial results in memory around what its block "
                       "computes"};
  for (const Nest::Attached& attached : nest.attached) {
    if (by == RunBy::Block && lies_between_threads(nest, attached.depth))
      return ThreadFault{attached.nest.stage, "it is computed between two thread loops"};
    if (attached.nest.buffers > 1)
      if (const char* what = fault_of_buffers(program, kernel, nest, attached, by))
        return ThreadFault{attached.nest.stage, what};
    if (auto fault =
            fault_below(program, kernel, attached.nest, attached_run_by(by, nest, attached.depth)))
      return fault;
  }
  return std::nullopt;
}

}  // namespace

bool is_block_kernel(const Kernel& kernel) {
  bool found = false;
  for_each_nest(kernel.root,
                [&](const Nest& nest) { found |= std::ranges::any_of(nest.loops, is_thread); });
  return found;
}

int64_t threads_of(const Nest& nest) {
  int64_t threads = 1;
  for (const Loop& loop : nest.loops)
    if (is_thread(loop)) threads *= loop.trips;
  return threads;
}

int64_t block_threads(const Kernel& kernel) {
  int64_t most = 1;
  for_each_nest(kernel.root, [&](const Nest& nest) { most = std::max(most, threads_of(nest)); });
  return ceil_div(most, kWarpThreads) * kWarpThreads;
}

size_t first_thread_loop(const Nest& nest) {
  const auto found = std::ranges::find_if(nest.loops, is_thread);
  return found == nest.loops.end() ? tile_begin(nest)
                                   : static_cast<size_t>(found - nest.loops.begin());
}

RunBy root_run_by(const Kernel& kernel) {
  return is_block_kernel(kernel) ? RunBy::Block : RunBy::Thread;
}

RunBy attached_run_by(RunBy host_by, const Nest& host, size_t depth) {
  return host_by == RunBy::Block && depth <= first_thread_loop(host) ? RunBy::Block : RunBy::Thread;
}

bool lies_between_threads(const Nest& host, size_t depth) {
  return std::ranges::any_of(host.loops.begin(), host.loops.begin() + static_cast<long>(depth),
                             is_thread) &&
         std::ranges::any_of(host.loops.begin() + static_cast<long>(depth), host.loops.end(),
                             is_thread);
}

bool takes_whole_tiles(const Stage& stage, const Nest& nest, size_t axis) {
  if (axis >= stage.domain.output_rank || !is_cooperative(stage, nest)) return false;
  const std::vector<size_t> loops = loops_over(nest, axis);
  const auto first =
      std::ranges::find_if(loops, [&](size_t l) { return is_thread(nest.loops[l]); });
  if (first == loops.end() || loops.back() < tile_begin(nest)) return false;
  return nest.spans[axis] % points_of_threads(nest, axis) != 0;
}

int64_t points_of_threads(const Nest& nest, size_t axis) {
  int64_t points = 1;
  for (const Loop& loop : nest.loops)
    if (loop.axis == axis && is_thread(loop)) points = std::max(points, loop.step * loop.trips);
  return points;
}

bool reads_buffers_of_tiles(const Program& program, const Nest& nest, size_t axis) {
  return reads_of_tiles(program, nest, axis) == TileReads::Buffers;
}

bool is_cooperative(const Stage& stage, const Nest& nest) {
  bool in_reduction = false;
  for (const Loop& loop : nest.loops) {
    if (is_thread(loop) && (in_reduction || is_reduction(stage, loop))) return true;
    in_reduction |= is_serial_reduction(stage, loop);
  }
  return false;
}

bool runs_together(const Running& running, const Nest& nest) {
  return std::ranges::any_of(nest.loops, [&](const Loop& loop) {
    return loop.axis == running.axis && loop.kind != LoopKind::Serial;
  });
}

int64_t threads_together(const Running& running, const Nest& nest) {
  int64_t threads = 1;
  for (const Loop& loop : nest.loops)
    if (loop.axis == running.axis && is_thread(loop)) threads *= loop.trips;
  return threads;
}

int64_t points_together(const Running& running, const Nest& nest) {
  int64_t points = 1;
  for (const Loop& loop : nest.loops)
    if (loop.axis == running.axis && loop.kind != LoopKind::Serial)
      points = std::max(points, loop.step * loop.trips);
  return points;
}

ThreadGroups groups_of(const Stage& stage, const Nest& nest) {
  ThreadGroups groups;
  for (const Loop& loop : nest.loops) {
    if (!is_thread(loop)) continue;
    if (is_reduction(stage, loop)) {
      groups.threads *= loop.trips;
    } else {
      groups.side_by_side &= groups.threads == 1;
      groups.count *= loop.trips;
    }
  }
  return groups;
}

std::optional<ThreadFault> fault_in_threads(const Program& program, const Kernel& kernel) {
  if (kernel.root.buffers > 1)
    return ThreadFault{kernel.root.stage, "it has several buffers, and no loop is around it"};
  const Stage& root = program.graph.stages[kernel.root.stage];
  if (const Running* running = running_of(program.graph, root);
      running && (runs_together(*running, kernel.root) || is_block_kernel(kernel)))
    if (const char* what = fault_of_running(program, *running, kernel.root))
      return ThreadFault{kernel.root.stage, what};
  if (!is_block_kernel(kernel)) {
    std::optional<ThreadFault> fault;
    for_each_nest(kernel.root, [&](const Nest& nest) {
      if (nest.buffers > 1)
        fault = {nest.stage, "it has several buffers, and its kernel no thread loops"};
    });
    return fault;
  }
  if (root.kind != StageKind::Compute)
    return ThreadFault{kernel.root.stage, "kernels of scatters and scans have no thread loops"};
  return fault_below(program, kernel, kernel.root, RunBy::Block);
}

}  // namespace adjit::sched
