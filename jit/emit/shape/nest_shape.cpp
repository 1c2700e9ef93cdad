// jit/emit/shape/nest_shape.cpp -- the loops of a nest, sorted, and the instances of its tile.
#include "jit/emit/shape/nest_shape.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/segment_loop.hpp"
#include "autosched/program/threads.hpp"
#include "jit/emit/shape/instance_number.hpp"

namespace adjit::emit {
namespace {

// Where one thread does it all, but for what is computed inside, it begins behind that.
size_t own_ways_from(const Nest& nest) {
  const size_t first = first_thread_loop(nest);
  if (first < sched::tile_begin(nest)) return first;
  size_t behind = 0;
  for (const Nest::Attached& attached : nest.attached) behind = std::max(behind, attached.depth);
  return behind;
}

// The serial loops of the reduction that stand directly above the tile; where threads share a
// reduction, their loops as well.
size_t accumulators_from(const NestShape& shape) {
  const bool cooperative = shape.runs_together || is_cooperative(*shape.stage, *shape.nest);
  const auto carries = [&](const Loop& loop) {
    if (loop.kind == LoopKind::Thread) return cooperative;
    return loop.kind == LoopKind::Serial && shape.is_reduction(loop);
  };
  size_t begin = shape.tile_begin;
  while (begin > 0 && carries(shape.nest->loops[begin - 1])) --begin;
  return begin;
}

// The first loop over points that are combined at once: the threads' along the axis, or the tile's.
size_t first_together(const Running& running, const Nest& nest) {
  const size_t begin = tile_begin(nest);
  const bool by_threads = begin > 0 && nest.loops[begin - 1].kind == LoopKind::Thread &&
                          nest.loops[begin - 1].axis == running.axis;
  return by_threads ? begin - 1 : begin;
}

}  // namespace

NestShape::NestShape(const Program& program, const Nest& of)
    : nest(&of),
      stage(&program.graph.stages[of.stage]),
      running(running_of(program.graph, *stage)),
      bodies(stage->bodies),
      target(stage->target),
      axes(of.axis_base) {
  const Domain& domain = stage->domain;
  tile_points.assign(domain.rank(), 0);
  tile_begin = sched::tile_begin(of);
  for (size_t k = 0; k < of.loops.size(); ++k) {
    const Loop& loop = of.loops[k];
    axes[loop.axis] += Affine::variable(loop.variable);
    if (k < tile_begin) continue;
    int64_t& points = tile_points[loop.axis];
    points = std::max(points, std::min(loop.step * loop.trips, of.spans[loop.axis]));
    if (loop.kind == LoopKind::Vector) {
      lane_loop = k;
      lanes = static_cast<unsigned>(loop.trips);
      continue;
    }
    if (loop.trips > kMaxUnrolledTrips)
      throw Error(ErrorCode::Schedule, "stage '" + program.graph.info(stage->results[0]).name +
                                           "' unrolls a loop " + std::to_string(loop.trips) +
                                           " times; at most " + std::to_string(kMaxUnrolledTrips) +
                                           " instances are made");
    unrolled_loops.push_back(k);
  }
  invariant(!running || domain.is_box(), "the domain of a stage that runs on is no box");
  if (running && sched::runs_together(*running, of)) {
    runs_together = true;
    together_begin = first_together(*running, of);
  }
  if (running && running->reverse) {
    Affine& axis = axes[running->axis];
    axis = Affine(domain.extents[running->axis] - 1) - axis;
    // Lanes go up in memory.
    if (lanes_in_reduction())
      axis += Affine::variable(of.loops[*lane_loop].variable, 2, -(int64_t{lanes} - 1));
  }
  if (const std::optional<Segments> segments = segments_of(program.graph.pool, *stage))
    if (const std::optional<size_t> loop = sched::segment_loop(program.graph, of, *segments)) {
      segment_loop = {*loop, segments->begin, segments->end};
      if (is_scatter()) {
        target[segments->dimension] = segments->inside[0];
      } else {
        bodies = segments->inside;
      }
    }
  thread_begin = own_ways_from(of);
  reduction_begin = is_scatter() ? parallel_depth(of) : accumulators_from(*this);
  for (size_t a = 0; a < domain.rank(); ++a)
    whole_tiles.push_back(
        takes_whole_tiles(*stage, of, a) ||
        (runs_together && a == running->axis && of.spans[a] % points_together(*running, of) != 0));
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    empty_reduction |= domain.extents[a] == 0;
}

bool NestShape::is_reduction(const Loop& loop) const {
  return loop.axis >= stage->domain.output_rank || (running && running->axis == loop.axis);
}

bool NestShape::uses_reduction(const Affine& form) const {
  const Domain& domain = stage->domain;
  for (size_t v = domain.output_rank; v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    if (v < domain.rank() || uses_reduction(domain.divisions[v - domain.rank()].numerator))
      return true;
  }
  return false;
}

size_t NestShape::depends_until(const Affine& form) const {
  const Domain& domain = stage->domain;
  size_t until = 0;
  for (size_t v = 0; v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    if (v >= domain.rank()) {
      until = std::max(until, depends_until(domain.divisions[v - domain.rank()].numerator));
      continue;
    }
    for (size_t k = 0; k < nest->loops.size(); ++k)
      if (nest->loops[k].axis == v) until = std::max(until, k + 1);
  }
  return until;
}

bool NestShape::divides_by(const Affine& form, size_t loop) const {
  const Domain& domain = stage->domain;
  for (size_t v = domain.rank(); v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    const Affine& numerator = domain.divisions[v - domain.rank()].numerator;
    if (numerator.coefficient(nest->loops[loop].axis) != 0 || divides_by(numerator, loop))
      return true;
  }
  return false;
}

bool NestShape::covers_tile(size_t loop) const {
  if (whole_tiles[nest->loops[loop].axis]) return false;
  for (size_t k = tile_begin; k < nest->loops.size(); ++k)
    if (nest->loops[k].axis == nest->loops[loop].axis) {
      for (size_t inner = loop + 1; inner < tile_begin; ++inner)
        if (nest->loops[inner].axis == nest->loops[loop].axis) return false;
      return true;
    }
  return false;
}

Affine NestShape::available(size_t loop) const {
  Affine left(nest->spans[nest->loops[loop].axis]);
  for (size_t k = 0; k < loop; ++k)
    if (nest->loops[k].axis == nest->loops[loop].axis)
      left -= Affine::variable(nest->loops[k].variable);
  return left;
}

std::vector<TileInstance> NestShape::instances(std::span<const int64_t> limits,
                                               bool reduction) const {
  std::vector<TileInstance> found(1);
  found[0].values.assign(unrolled_loops.size(), 0);
  for (size_t c = 0; c < unrolled_loops.size(); ++c) {
    const Loop& loop = nest->loops[unrolled_loops[c]];
    if (is_reduction(loop) != reduction) continue;
    std::vector<TileInstance> next;
    for (const TileInstance& instance : found)
      for (int64_t trip = 0; trip < loop.trips; ++trip) {
        TileInstance one = instance;
        one.values[c] = trip * loop.step;
        one.number = with_trip(one.number, c, trip);
        if (offset_along(loop.axis, one) < limits[loop.axis]) next.push_back(one);
      }
    found = std::move(next);
  }
  for (TileInstance& instance : found) {
    instance.live_lanes = lanes;
    if (!lane_loop || is_reduction(nest->loops[*lane_loop]) != reduction) continue;
    const size_t axis = nest->loops[*lane_loop].axis;
    instance.live_lanes = static_cast<unsigned>(
        std::min<int64_t>(lanes, limits[axis] - offset_along(axis, instance)));
  }
  return found;
}

int64_t NestShape::offset_along(size_t axis, const TileInstance& instance) const {
  int64_t offset = 0;
  for (size_t c = 0; c < unrolled_loops.size(); ++c)
    if (nest->loops[unrolled_loops[c]].axis == axis) offset += instance.values[c];
  return offset;
}

std::vector<int64_t> NestShape::instance_trips(std::span<const int64_t> limits) const {
  std::vector<int64_t> trips;
  for (size_t c : unrolled_loops) {
    const Loop& loop = nest->loops[c];
    const bool alone = std::ranges::count_if(
                           nest->loops.begin() + static_cast<long>(tile_begin), nest->loops.end(),
                           [&](const Loop& other) { return other.axis == loop.axis; }) == 1;
    trips.push_back(alone && loop.step == 1 ? std::min(loop.trips, limits[loop.axis]) : 0);
  }
  return trips;
}

TileInstance NestShape::combined(const TileInstance& output, const TileInstance& reduction) const {
  TileInstance instance = output;
  for (size_t c = 0; c < instance.values.size(); ++c) instance.values[c] += reduction.values[c];
  instance.number |= reduction.number;
  return instance;
}

size_t NestShape::chain_of(const TileInstance& reduction) const {
  size_t chain = 0;
  if (!lanes_in_reduction()) return chain;
  for (size_t c = 0; c < unrolled_loops.size(); ++c) {
    const Loop& loop = nest->loops[unrolled_loops[c]];
    if (loop.axis != nest->loops[*lane_loop].axis) continue;
    chain = chain * static_cast<size_t>(loop.trips) +
            static_cast<size_t>(reduction.values[c] / loop.step);
  }
  return chain;
}

size_t NestShape::chain_count(std::span<const int64_t> limits) const {
  size_t count = 1;
  for (const TileInstance& reduction : instances(limits, true))
    count = std::max(count, chain_of(reduction) + 1);
  return count;
}

}  // namespace adjit::emit
