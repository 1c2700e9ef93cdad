// jit/emit/tile/nest_context.cpp -- what the emitters of one nest share, and how much they may
// emit.
#include "jit/emit/tile/nest_context.hpp"

#include <algorithm>
#include <string>

#include "autosched/analysis/work.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::emit {
namespace {

/// Where the nest's first point along each axis may be.
std::vector<Interval> first_points(const KernelContext& kernel, const Nest& nest) {
  std::vector<Interval> ranges;
  for (const Affine& base : nest.axis_base) {
    Interval range = kernel.variables.range(kernel.variables.resolve(base));
    for (const auto& [origin, last] : kernel.origins)
      if (const Affine shift = base - origin; shift.is_constant())
        range.hi = std::min(range.hi, checked_add(last, shift.constant()));
    ranges.push_back(range);
  }
  return ranges;
}

/// The values that each axis takes.
std::vector<Interval> axis_ranges(std::vector<Interval> first_points, const NestShape& shape) {
  for (size_t a = 0; a < first_points.size(); ++a) {
    int64_t points = shape.nest->spans[a];
    if (shape.whole_tiles[a]) {
      const int64_t whole = shape.runs_together && shape.running->axis == a
                                ? points_together(*shape.running, *shape.nest)
                                : points_of_threads(*shape.nest, a);
      points = ceil_div(points, whole) * whole;
    }
    if (shape.runs_together && shape.running->axis == a && shape.running->reverse) {
      first_points[a].lo = shape.nest->spans[a] - points;
      points = shape.nest->spans[a];
    }
    first_points[a].hi = checked_add(first_points[a].hi, std::max<int64_t>(points - 1, 0));
  }
  return first_points;
}

double work_of_instance(const Program& program, const NestShape& shape, double body) {
  const double vectors =
      static_cast<double>(shape.lanes) /
      static_cast<double>(full_lanes(program.graph, *shape.stage, vector_bits_of(program.target)));
  if (shape.unrolled_loops.empty() && vectors <= 1) return 0;
  return body * std::max(vectors, 1.0);
}

}  // namespace

NestContext::NestContext(KernelContext& kernel, const Nest& nest, bool by_block)
    : kernel(kernel),
      shape(kernel.program, nest),
      limits(shape.tile_points),
      combiner(kernel.program.graph, *shape.stage, kernel.builder, kernel.math,
               groups_of(*shape.stage, nest).threads > 1),
      body_shape(kernel.program.graph, shape, axis_ranges(first_points(kernel, nest), shape),
                 kernel.places, kernel.math.features().gpu),
      splats(kernel.builder, kernel.scopes, kernel.variables),
      body({static_cast<const Emission&>(kernel), body_shape, kernel.places, splats}, nest.ahead),
      constraints(kernel.program, shape, first_points(kernel, nest), body_shape.reads_anywhere),
      masks(body.context()),
      stores(kernel, shape, limits, constraints.has_place, splats, masks),
      instance_work(work_of_instance(kernel.program, shape, body_shape.work)),
      by_block(by_block),
      carries_over_threads(
          by_block && !shape.runs_together &&
          (is_cooperative(*shape.stage, nest) || shape.reduction_begin < shape.thread_begin)) {}

void count_instance(NestContext& nest) {
  constexpr size_t kMostOperations = 1 << 18;
  constexpr double kMostUnrolledWork = 1 << 17;
  KernelContext& kernel = nest.kernel;
  const auto stage = [&] {
    return "stage '" + kernel.program.graph.info(nest.shape.stage->results[0]).name + "'";
  };
  kernel.operations += nest.body_shape.node_count();
  if (kernel.operations > kMostOperations)
    throw Error(ErrorCode::Schedule, "the kernel is unrolled to more than " +
                                         std::to_string(kMostOperations) + " operations at " +
                                         stage() + ": unroll less");
  kernel.unrolled_work += nest.instance_work;
  if (kernel.unrolled_work > kMostUnrolledWork)
    throw Error(ErrorCode::Schedule, "instances of the long body of " + stage() +
                                         " would take more than " +
                                         std::to_string(static_cast<int64_t>(kMostUnrolledWork)) +
                                         " instructions: unroll less, or take fewer lanes");
}

}  // namespace adjit::emit
