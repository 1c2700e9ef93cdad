// autosched/cpu/passes/loops/tasks.cpp -- which loops of a kernel become parallel, and how many
// trips one task takes.
#include "autosched/cpu/passes/loops/tasks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

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
  Tasks tasks;
  double best = 0;
  int64_t count = 1;
  for (size_t loops = 1; loops <= output_loops && count <= 16 * fewest * cores; ++loops) {
    count *= nest.loops[loops - 1].trips;
    if (count < 2 || (count < fewest * cores && loops < output_loops)) continue;
    const Chunks chunks = choose_chunks(nest, loops, cores, fewest, largest_chunk);
    if (chunks.efficiency <= best + thresholds().tasks_gain) continue;
    best = chunks.efficiency;
    tasks = {loops, chunks.chunk};
    if (best >= thresholds().even_share) break;
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

}  // namespace

Program run_in_parallel(Program program, size_t stage, double cycles, const TaskLimits& limits,
                        Choices& choices) {
  const Nest& nest = nest_of(program, stage);
  const CoreTime time{cycles,
                      cycles_from_memory(cpu_of(program.target), bytes_moved(program, nest))};
  if (microseconds(cpu_of(program.target), time) < thresholds().parallel_microseconds)
    return program;
  const size_t output_rank = program.graph.stages[stage].domain.output_rank;
  size_t output_loops = 0;
  while (output_loops < std::min(limits.loops, tile_begin(nest)) &&
         nest.loops[output_loops].axis < output_rank &&
         nest.loops[output_loops].axis != limits.serial_axis)
    ++output_loops;
  const int cores = std::max(cpu_of(program.target).cores, 2);
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

Program share_tasks(Program program, size_t stage, const SharedTasks& shared) {
  const Nest& nest = nest_of(program, stage);
  if (tile_begin(nest) == 0 || nest.loops[0].axis != 0 ||
      program.graph.stages[stage].domain.output_rank == 0)
    return program;
  const int64_t step = nest.loops[0].step;
  if (shared.points % step != 0) return program;
  const Tasks tasks =
      shared.points > 0
          ? Tasks{1, shared.points / step}
          : choose_tasks(nest, 1, std::max(cpu_of(program.target).cores, 2), 2, INT64_MAX);
  if (tasks.loops == 0) return program;
  return make_tasks(std::move(program), stage, tasks);
}

}  // namespace adjit::sched
