// autosched/gpu/columns/column_loops.cpp -- rows that a block takes at once, and columns of a
// thread.
#include "autosched/gpu/columns/column_loops.hpp"

#include <algorithm>
#include <utility>

#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

// Threads for so many places: all of them get as many, where some number that is not much larger
// than needed divides the places.
int64_t threads_for(int64_t places, int64_t most) {
  if (places <= most) return std::max<int64_t>(places, 1);
  const int64_t least = ceil_div(places, most);
  for (int64_t each = least; each < 2 * least; ++each)
    if (places % each == 0) return places / each;
  return ceil_div(places, least);
}

// Tasks, serial loops over the reduction, the rows of a group, columns; then the tile.
std::vector<size_t> order_of(const Stage& stage, const Nest& nest, const ColumnGroup& group) {
  const auto place = [&](size_t l) {
    const Loop& loop = nest.loops[l];
    if (l >= tile_begin(nest)) return 5;
    if (loop.kind == LoopKind::Thread) return 4;
    if (loop.axis < stage.domain.output_rank) return 0;
    if (loop.axis != group.along) return 1;
    return loop.step == group.rows ? 2 : 3;
  };
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::ranges::stable_sort(order, {}, place);
  return order;
}

// Gives an axis of columns to threads, outside what each thread has of it.
Program share_axis(Program program, size_t root, size_t axis, int64_t lanes, int64_t each,
                   int64_t threads) {
  if (lanes > 1) program = vectorize(std::move(program), root, axis, lanes);
  if (each > 1) program = unroll(std::move(program), root, axis, each);
  return threads > 1 ? sched::threads(std::move(program), root, axis, threads) : std::move(program);
}

}  // namespace

ColumnThreads column_threads(std::span<const int64_t> spans, int64_t lanes, int64_t most) {
  ColumnThreads threads;
  threads.along.assign(spans.size(), 1);
  threads.columns = lanes;
  for (size_t k = spans.size(); k-- > 0;) {
    const int64_t places = spans[k] / (k + 1 == spans.size() ? lanes : 1);
    threads.along[k] = threads_for(places, std::max<int64_t>(most / threads.count, 1));
    threads.count *= threads.along[k];
    threads.columns *= ceil_div(places, threads.along[k]);
  }
  return threads;
}

Program column_loops(Program program, size_t root, const ColumnGroup& group) {
  const Domain domain = program.graph.stages[root].domain;
  const size_t last = domain.output_rank - 1, first = domain.output_rank - group.inside;
  std::vector<int64_t> spans(domain.extents.begin() + static_cast<long>(first),
                             domain.extents.begin() + static_cast<long>(domain.output_rank));
  if (group.tile > 0) {
    program = tile(std::move(program), root, last, std::vector<int64_t>{group.tile});
    spans.back() = group.tile;
  }
  if (group.rows > 1)
    program = tile(std::move(program), root, group.along, std::vector<int64_t>{group.rows});
  const int64_t lanes = lanes_along(program.graph, program.graph.stages[root], last, spans.back());
  const ColumnThreads threads = column_threads(spans, lanes, group.threads / group.rows);
  for (size_t axis = last + 1; axis-- > first;) {
    const int64_t wide = axis == last ? lanes : 1, along = threads.along[axis - first];
    const int64_t each = ceil_div(spans[axis - first] / wide, along);
    program = share_axis(std::move(program), root, axis, wide, each, along);
  }
  const std::vector<size_t> order =
      order_of(program.graph.stages[root], nest_of(program, root), group);
  program = with_order(std::move(program), root, order);
  if (group.rows > 1) program = sched::threads(std::move(program), root, group.along, group.rows);
  size_t tasks = 0;
  const Nest& nest = nest_of(program, root);
  while (tasks < first_thread_loop(nest) && nest.loops[tasks].axis < domain.output_rank) ++tasks;
  return tasks > 0 ? parallel(std::move(program), root, tasks) : std::move(program);
}

Program attached_loops(Program program, size_t root) {
  const Nest& nest = nest_of(program, root);
  const int64_t threads = threads_of(nest);
  int64_t neighbours = 1;  // the last loop of threads is along the columns
  for (const Loop& loop : nest.loops)
    if (loop.kind == LoopKind::Thread) neighbours = loop.trips;
  std::vector<size_t> attached;
  for (const Nest::Attached& a : nest.attached) attached.push_back(a.nest.stage);
  for (const size_t s : attached)
    program = thread_loops(std::move(program), s, 0, threads, neighbours);
  return program;
}

}  // namespace adjit::sched
