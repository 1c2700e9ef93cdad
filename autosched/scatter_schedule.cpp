// autosched/scatter_schedule.cpp -- lanes, tasks and parts of scatters; lanes and tasks of running
// reductions.
#include "autosched/scatter_schedule.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autosched/moves.hpp"
#include "autosched/nest_schedule.hpp"
#include "autosched/nests.hpp"
#include "autosched/rewriting.hpp"
#include "autosched/tile_choice.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr double kCyclesPerPoint = 6;  // load the index, check it, load, combine, store
constexpr int64_t kScatterParts = 8;

double cycles_of(const Stage& stage) { return kCyclesPerPoint * box_points(stage.domain); }

std::vector<size_t> independent_axes(const Graph& graph, const Stage& stage) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (stage.domain.extents[a] > 1 && is_independent(graph, stage, a)) axes.push_back(a);
  return axes;
}

// Elements between what neighbouring points of the axis write.
int64_t stride_of(const Graph& graph, const Stage& stage, size_t axis) {
  const std::vector<int64_t>& shape = graph.info(stage.results[0]).shape;
  Domain domain = stage.domain;
  int64_t stride = 0, scale = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (stage.kind == StageKind::Compute) {
      stride += d == axis ? scale : 0;
    } else if (const auto form = as_affine(graph.pool, stage.target[d], domain)) {
      stride += form->coefficient(axis) * scale;
    }
    scale *= std::max<int64_t>(shape[d], 1);
  }
  return stride;
}

std::optional<size_t> lanes_axis(const Graph& graph, const Stage& stage) {
  for (size_t axis : independent_axes(graph, stage))
    if (stride_of(graph, stage, axis) == 1) return axis;
  return std::nullopt;
}

// The loop of step `step`, or a little more, over an axis goes outermost and becomes parallel.
Program run_in_parallel(Program program, size_t stage, size_t axis, int64_t step) {
  const std::vector<size_t> over = loops_over(nest_of(program, stage), axis);
  const int64_t below = nest_of(program, stage).loops[over.front()].step;
  if (below < step) {
    const int64_t steps[] = {ceil_div(step, below) * below};  // whole register tiles
    program = tile(std::move(program), stage, axis, steps);
  }
  const Nest& nest = nest_of(program, stage);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t outermost = loops_over(nest, axis).front();
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(outermost),
              order.begin() + static_cast<std::ptrdiff_t>(outermost + 1));
  if (outermost != 0) program = reorder(std::move(program), stage, order);
  return parallel(std::move(program), stage, 1);
}

// A running reduction waits for itself: several rows, or vectors of rows, hide the latency.
Program interleave(Program program, size_t stage, std::span<const size_t> axes, int64_t width) {
  constexpr int64_t kChains = 4;
  for (size_t k = axes.size(); k-- > 0;)
    for (const Loop& loop : nest_of(program, stage).loops)
      if (loop.axis == axes[k] && loop.kind == LoopKind::Serial && loop.trips >= kChains &&
          (width == 1 || loop.step == width))
        return unroll(std::move(program), stage, axes[k], kChains);
  return program;
}

// Values and targets that take some arithmetic are computed in lanes, though written in turn; short
// axes inside the lanes' one (the corners of a cell) are unrolled, and share it.
Program compute_in_lanes(Program program, size_t stage, const Target& target) {
  constexpr double kWorth = 6;  // vector instructions a point
  constexpr int64_t kMostCopies = 8;
  const Graph& graph = program.graph;
  const Stage& s = graph.stages[stage];
  const std::vector<int64_t> extents = s.domain.extents;
  std::vector<ExprId> roots = s.bodies;
  roots.insert(roots.end(), s.target.begin(), s.target.end());
  if (WorkMeter(graph.pool)(roots).cost < kWorth) return program;
  const int64_t lanes = full_lanes(graph, s, target.vector_bits);
  const bool in_order = s.combiner.kind == CombinerKind::None;  // the last writer wins
  size_t axis = extents.size();
  while (axis-- > 0) {
    if (extents[axis] >= lanes) break;
    if (in_order || extents[axis] > kMostCopies) return program;
  }
  if (axis >= extents.size()) return program;
  program = vectorize(std::move(program), stage, axis, lanes);
  int64_t copies = 1;
  for (size_t a = axis + 1; a < extents.size(); ++a) {
    if (extents[a] < 2 || copies * extents[a] > kMostCopies) continue;
    copies *= extents[a];
    program = unroll(std::move(program), stage, a, extents[a]);
  }
  return program;
}

}  // namespace

Program split_scatters(Program program) {
  for (size_t s = program.graph.stages.size(); s-- > 0;) {
    const Stage& stage = program.graph.stages[s];
    if (stage.kind != StageKind::Scatter || !has_partial_results(stage.combiner.kind)) continue;
    if (!independent_axes(program.graph, stage).empty()) continue;
    const double points = box_points(stage.domain);
    const auto elements = static_cast<double>(program.graph.info(stage.results[0]).element_count());
    if (microseconds(cycles_of(stage), 0) < 100 || elements * kScatterParts * 4 > points) continue;
    const auto largest = std::ranges::max_element(stage.domain.extents);
    const auto axis = static_cast<size_t>(largest - stage.domain.extents.begin());
    if (*largest >= 4 * kScatterParts)
      program = split_scatter(std::move(program), s, axis, kScatterParts);
  }
  return program;
}

Program schedule_scatter(Program program, size_t stage, const Target& target) {
  const Stage& s = program.graph.stages[stage];
  const std::vector<int64_t> extents = s.domain.extents;
  const std::vector<size_t> apart = independent_axes(program.graph, s);
  const double cycles = cycles_of(s);
  const std::optional<size_t> lanes = lanes_axis(program.graph, s);
  int64_t width = 1;
  if (lanes) {
    const auto bytes = static_cast<int64_t>(size_of(program.graph.info(s.results[0]).dtype));
    const auto needed = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extents[*lanes])));
    width = std::min<int64_t>(target.vector_bits / 8 / bytes, needed);
    if (width > 1) program = vectorize(std::move(program), stage, *lanes, width);
  }
  if (!lanes && s.kind == StageKind::Scatter)
    program = compute_in_lanes(std::move(program), stage, target);
  if (s.running) program = interleave(std::move(program), stage, apart, width);
  if (apart.empty() || microseconds(cycles, 0) < 20) return program;
  // The axis with the most independent steps; the lanes' axis by whole vectors.
  const auto steps = [&](size_t axis) {
    return lanes && axis == *lanes ? extents[axis] / width : extents[axis];
  };
  const size_t axis = *std::ranges::max_element(apart, {}, steps);
  const int64_t unit = lanes && axis == *lanes ? width : 1;
  if (steps(axis) < 2) return program;
  // Every task walks all indices: with lanes, as few tasks as there are cores, of wide rows.
  const int64_t wanted = std::max(program.cores, 2) * (unit > 1 ? 1 : 4);
  const int64_t tasks = std::min<int64_t>(steps(axis), wanted);
  return run_in_parallel(std::move(program), stage, axis,
                         unit * ceil_div(ceil_div(extents[axis], unit), tasks));
}

}  // namespace adjit
