// autosched/cpu/passes/loops/scatter.cpp -- lanes, tasks and parts of scatters; lanes and tasks of
// running reductions.
#include "autosched/cpu/passes/loops/scatter.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

double cycles_of(const Stage& stage, const CpuMachine& machine) {
  return machine.core.scatter_point_cycles * box_points(stage.domain);
}

std::vector<size_t> independent_axes(const LoweredGraph& graph, const Stage& stage) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (stage.domain.extents[a] > 1 && is_independent(graph, stage, a)) axes.push_back(a);
  return axes;
}

// Elements between what neighbouring points of the axis write.
int64_t stride_of(const Graph& graph, const Stage& stage, size_t axis) {
  const std::vector<int64_t>& shape = graph.info(stage.results[0]).shape;
  IndexMap written;
  if (stage.kind == StageKind::Scatter)
    written = index_map(graph.pool, stage.target, stage.domain);
  else
    for (size_t d = 0; d < shape.size(); ++d) written.forms.push_back(Affine::variable(d));
  return row_major_address(written, shape).coefficient(axis);
}

std::optional<size_t> lanes_axis(const LoweredGraph& graph, const Stage& stage) {
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
Program interleave_axes(Program program, size_t stage, std::span<const size_t> axes,
                        int64_t width) {
  for (size_t k = axes.size(); k-- > 0;)
    for (const Loop& loop : nest_of(program, stage).loops)
      if (loop.axis == axes[k] && loop.kind == LoopKind::Serial &&
          loop.trips >= thresholds().chains && (width == 1 || loop.step == width))
        return unroll(std::move(program), stage, axes[k], thresholds().chains);
  return program;
}

// Values and targets that take some arithmetic are computed in lanes, though written in turn; short
// axes inside the lanes' one (the corners of a cell) are unrolled, and share it.
Program compute_in_lanes(Program program, size_t stage, const CpuMachine& machine) {
  const Graph& graph = program.graph;
  const Stage& s = graph.stages[stage];
  const std::vector<int64_t> extents = s.domain.extents;
  std::vector<ExprId> roots = s.bodies;
  roots.insert(roots.end(), s.target.begin(), s.target.end());
  if (WorkMeter(graph.pool)(roots).cost < thresholds().scatter_lanes_cost) return program;
  const int64_t lanes = full_lanes(graph, s, machine.vector_bits);
  const bool in_order = s.combiner.kind == CombinerKind::None;  // the last writer wins
  size_t axis = extents.size();
  while (axis-- > 0) {
    if (extents[axis] >= lanes) break;
    if (in_order || extents[axis] > thresholds().axis_instances) return program;
  }
  if (axis >= extents.size()) return program;
  program = vectorize(std::move(program), stage, axis, lanes);
  int64_t instances = 1;
  for (size_t a = axis + 1; a < extents.size(); ++a) {
    if (extents[a] < 2 || instances * extents[a] > thresholds().axis_instances) continue;
    instances *= extents[a];
    program = unroll(std::move(program), stage, a, extents[a]);
  }
  return program;
}

// A scatter whose lanes write rows: data names the row, and `axis` walks it. The values of a row's
// points come from vectors along `lanes_axis`.
struct IndexedTarget {
  size_t axis = 0, dimension = 0;  // of the stage, of its result
  size_t lanes_axis = 0;
  int64_t lanes = 1, piece = 1;
};

// The axis along which most reads of the values are contiguous, the last one of several.
std::optional<size_t> values_along(const LoweredGraph& graph, const Stage& stage, int64_t lanes) {
  const Accesses accesses = accesses_of(graph, stage);
  std::optional<size_t> best;
  int64_t most = 1;
  for (size_t axis = 0; axis < stage.domain.rank(); ++axis) {
    const int64_t reads = std::ranges::count_if(
        accesses.reads, [&](const MemoryAccess& access) { return access.contiguous(axis); });
    if (stage.domain.extents[axis] < lanes || reads < most) continue;
    best = axis;
    most = reads;
  }
  return best;
}

std::optional<IndexedTarget> rows_of(const LoweredGraph& graph, const Stage& stage,
                                     int vector_bits) {
  const Domain& domain = stage.domain;
  const int64_t piece = row_piece(graph, stage.results[0]);
  IndexedTarget rows{.lanes = full_lanes(graph, stage, vector_bits), .piece = piece};
  if (stage.kind != StageKind::Scatter || !has_partial_results(stage.combiner.kind) || piece < 2 ||
      rows.lanes % piece != 0)
    return std::nullopt;
  const bool by_data = !index_map(graph.pool, stage.target, domain).is_affine();
  const std::optional<size_t> along = values_along(graph, stage, rows.lanes);
  if (!by_data || !along) return std::nullopt;
  rows.lanes_axis = *along;
  for (size_t axis = domain.rank(); axis-- > 0;) {
    if (axis == *along || domain.extents[axis] % piece != 0 || domain.extents[axis] == 0) continue;
    const auto dimension = dimension_walked(graph.pool, stage, stage.target, axis);
    if (!dimension || domain.is_bounded(axis) || domain.is_bounded(*along)) continue;
    rows.axis = axis;
    rows.dimension = *dimension;
    return rows;
  }
  return std::nullopt;
}

// Vectors of values, as many of them as a piece of a row has elements. What walks the rows steps
// innermost, then short axes (the corners of a cell): what does not depend on them is computed
// outside their loops.
Program write_rows(Program program, size_t stage, const IndexedTarget& rows) {
  program = vectorize(std::move(program), stage, rows.lanes_axis, rows.lanes);
  program = unroll(std::move(program), stage, rows.axis, rows.piece);
  const Stage& s = program.graph.stages[stage];
  const Nest& nest = nest_of(program, stage);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank_of = [&](size_t l) {
    const size_t axis = nest.loops[l].axis;
    if (uses(program.graph.pool, s.target[rows.dimension], axis)) return 2;
    return s.domain.extents[axis] <= thresholds().short_axis &&
                   !is_independent(program.graph, s, axis)
               ? 1
               : 0;
  };
  std::ranges::stable_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(tile_begin(nest)), {}, rank_of);
  return reorder(std::move(program), stage, order);
}

// Rows in whole vectors, where they can be written so.
Program with_rows(Program program, size_t stage, size_t dimension) {
  const Stage& s = program.graph.stages[stage];
  const int64_t elements = program.graph.info(s.results[0]).shape[dimension];
  const int64_t lanes = full_lanes(program.graph, s, cpu_of(program.target).vector_bits);
  if (elements >= thresholds().filled_row) {
    Program trial = scatter_layout(program, stage, dimension, whole_row(elements, lanes));
    const RowScatter rows = row_scatter(trial.graph, trial.graph.stages[stage + 1]);
    if (!rows.refusal && rows.elements == elements) return trial;
  }
  return scatter_layout(std::move(program), stage, dimension);
}

}  // namespace

Program write_scatters_by_rows(Program program) {
  for (size_t s = program.graph.stages.size(); s-- > 0;) {
    const Stage& stage = program.graph.stages[s];
    const std::optional<IndexedTarget> rows =
        rows_of(program.graph, stage, cpu_of(program.target).vector_bits);
    if (!rows || lanes_axis(program.graph, stage)) continue;
    const TensorInfo& result = program.graph.info(stage.results[0]);
    const double points = box_points(stage.domain);
    if (rows->dimension + 1 == result.shape.size() ||
        microseconds(cpu_of(program.target), {cycles_of(stage, cpu_of(program.target))}) <
            thresholds().rewrite_microseconds ||
        points < thresholds().scatter_reuse * static_cast<double>(result.element_count()))
      continue;
    program = with_rows(std::move(program), s, rows->dimension);
  }
  return program;
}

namespace {

// The longest axis, but for those that whole rows of results want for themselves.
std::optional<size_t> axis_of_parts(const LoweredGraph& graph, const Stage& stage,
                                    int vector_bits) {
  const std::optional<IndexedTarget> rows = rows_of(graph, stage, vector_bits);
  std::optional<size_t> best;
  for (const bool spares_rows : {true, false}) {
    for (size_t axis = 0; axis < stage.domain.rank(); ++axis) {
      if (spares_rows && rows && (axis == rows->axis || axis == rows->lanes_axis)) continue;
      if (stage.domain.extents[axis] < 4 * thresholds().work_parts) continue;
      if (!best || stage.domain.extents[axis] > stage.domain.extents[*best]) best = axis;
    }
    if (best) break;
  }
  return best;
}

// About so many that leave no rest, if there are such numbers.
int64_t parts_of(int64_t extent) {
  for (const int64_t parts :
       {thresholds().work_parts, thresholds().work_parts - 1, thresholds().work_parts + 1,
        thresholds().work_parts - 2, thresholds().work_parts + 2})
    if (extent % parts == 0) return parts;
  return thresholds().work_parts;
}

// Vectors of a row that come together, without a loop: the processor then sees more rows ahead,
// each of which waits for memory. A task's part of the row is made of whole ones.
int64_t instances_of_row(int64_t vectors, int tasks) {
  const int64_t part = std::max<int64_t>(1, ceil_div(vectors, tasks));
  int64_t instances = std::min(thresholds().axis_instances, part);
  while (part % instances != 0) --instances;
  return instances;
}

// All rows that a point's values go to at once: loops over what the values, which alone walk a row,
// do not use.
Program unroll_corners(Program program, size_t stage) {
  const Nest nest = nest_of(program, stage);
  const ExprPool& pool = program.graph.pool;
  const size_t row = program.graph.stages[stage].domain.rank() - 1;
  AxisSet of_values = 0;
  for (ExprId read : reads_of(program.graph, program.graph.stages[stage]))
    if (const AxisSet used = axes_used(pool, read); used & bit(row)) of_values |= used;
  int64_t instances = 1;
  for (size_t l = tile_begin(nest); l-- > nest.attached.front().depth;) {
    const Loop& loop = nest.loops[l];
    if ((of_values & bit(loop.axis)) != 0 ||
        instances * loop.trips > thresholds().instances_at_once)
      continue;
    instances *= loop.trips;
    program = unroll(std::move(program), stage, loop.axis, loop.trips);
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
    if (microseconds(cpu_of(program.target), {cycles_of(stage, cpu_of(program.target))}) <
            thresholds().rfactor_microseconds ||
        elements * static_cast<double>(thresholds().work_parts) * 4 > points)
      continue;
    if (const std::optional<size_t> axis =
            axis_of_parts(program.graph, stage, cpu_of(program.target).vector_bits))
      program =
          privatize_scatter(std::move(program), s, *axis, parts_of(stage.domain.extents[*axis]));
  }
  return program;
}

Program schedule_scatter(Program program, size_t stage, const CpuMachine& machine,
                         const ReductionPlans& plans, Choices& choices) {
  program = schedule_attached(std::move(program), stage, machine, plans, choices);
  const Stage& s = program.graph.stages[stage];
  const std::vector<int64_t> extents = s.domain.extents;
  const std::vector<size_t> apart = independent_axes(program.graph, s);
  const CpuMachine target = cpu_of(program.target);
  const double cycles = cycles_of(s, target);
  const std::optional<IndexedTarget> rows = rows_of(program.graph, s, target.vector_bits);
  const bool weighed = !nest_of(program, stage).attached.empty();
  const bool by_rows = rows && !weighed && rows->dimension + 1 == s.target.size();
  const std::optional<size_t> lanes = by_rows ? std::nullopt : lanes_axis(program.graph, s);
  int64_t width = 1;
  if (by_rows) program = write_rows(std::move(program), stage, *rows);
  if (lanes) {
    const auto bytes = static_cast<int64_t>(size_of(program.graph.info(s.results[0]).dtype));
    const auto needed = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extents[*lanes])));
    width = std::min<int64_t>(machine.vector_bits / 8 / bytes, needed);
    if (width > 1) program = vectorize(std::move(program), stage, *lanes, width);
    if (weighed)
      program = unroll_corners(std::move(program), stage);
    else if (const int64_t instances =
                 instances_of_row(ceil_div(extents[*lanes], width), target.cores);
             instances > 1 && width > 1 && !running_of(program.graph, s)) {
      program = unroll(std::move(program), stage, *lanes, instances);
      width *= instances;
    }
  }
  if (!by_rows && !lanes && s.kind == StageKind::Scatter)
    program = compute_in_lanes(std::move(program), stage, machine);
  if (running_of(program.graph, s))
    program = interleave_axes(std::move(program), stage, apart, width);
  // An axis that is in the tile as a whole has no loop for tasks.
  const Nest& nest = nest_of(program, stage);
  const size_t outside = nest.attached.empty() ? nest.loops.size() : nest.attached.front().depth;
  std::vector<size_t> free;
  for (size_t a : apart)
    for (size_t l = 0; l < outside; ++l)
      if (nest.loops[l].axis == a && nest.loops[l].kind == LoopKind::Serial) {
        free.push_back(a);
        break;
      }
  if (free.empty() || microseconds(target, {cycles}) < thresholds().rewrite_microseconds)
    return program;
  // The axis with the most independent steps; one in the tile by whole vectors or pieces.
  const auto unit_of = [&](size_t axis) -> int64_t {
    if (lanes && axis == *lanes) return width;
    if (by_rows && axis == rows->lanes_axis) return rows->lanes;
    return by_rows && axis == rows->axis ? rows->piece : 1;
  };
  const auto steps = [&](size_t axis) { return ceil_div(extents[axis], unit_of(axis)); };
  const size_t axis = *std::ranges::max_element(free, {}, steps);
  const int64_t unit = unit_of(axis);
  // Every task walks all indices: with lanes, as few tasks as there are cores, of wide rows.
  const int64_t wanted = unit > 1 ? target.cores : 4 * std::max(target.cores, 2);
  if (steps(axis) < 2 || wanted < 2) return program;
  const int64_t tasks = std::min<int64_t>(steps(axis), wanted);
  return run_in_parallel(std::move(program), stage, axis, unit * ceil_div(steps(axis), tasks));
}

}  // namespace adjit::sched
