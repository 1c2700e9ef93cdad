// autosched/cpu/passes/indexed/indexed_rows.cpp -- whether rows are summed and weighed as rows, and
// where.
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Loops over the axes that what is attached follows go outermost; how many these are.
size_t put_outermost(Program& program, size_t stage, AxisSet axes) {
  const Nest& nest = nest_of(program, stage);
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto inside = std::ranges::stable_partition(
      order, [&](size_t l) { return (axes & bit(nest.loops[l].axis)) != 0; });
  const auto depth = static_cast<size_t>(inside.begin() - order.begin());
  program = with_order(std::move(program), stage, order);
  return depth;
}

// Points of a block: whole vectors, and all blocks alike; 0: there are none such.
int64_t points_of_block(int64_t extent, int64_t lanes) {
  for (int64_t points = thresholds().indexed_points / lanes * lanes; points >= 2 * lanes;
       points -= lanes)
    if (extent % points == 0 && points < extent) return points;
  return 0;
}

// Attaches the stages [first, host) to the host's first loops; nullopt where they are too large.
std::optional<Program> attached_at(Program program, size_t first, size_t host, size_t depth) {
  if (depth == 0) return std::nullopt;
  int64_t bytes = 0;
  for (size_t s = host; s-- > first;) {
    const Attachment where = attachment(program, s, host, depth);
    if (where.refusal || where.whole) return std::nullopt;
    int64_t points = 1;
    for (int64_t span : where.region.spans) points *= span;
    for (TensorId id : program.graph.stages[s].results)
      bytes += points * static_cast<int64_t>(size_of(program.graph.info(id).dtype));
    if (bytes > thresholds().local_bytes) return std::nullopt;
    program = compute_at(std::move(program), s, host, depth);
  }
  return program;
}

// A program in which stages are attached to a host.
struct InBlocks {
  Program program;
  int64_t block = 0;  // points of the host's axis `side` that they are attached for; 0: all
};

// In loops over the axes `outer`, and in one over blocks of `side` where whole rows of it are much.
std::optional<InBlocks> attached_in_blocks(Program program, size_t first, size_t host,
                                           AxisSet outer, size_t side, int64_t lanes) {
  const size_t depth = put_outermost(program, host, outer);
  if (std::optional<Program> whole = attached_at(program, first, host, depth))
    return InBlocks{std::move(*whole)};
  const int64_t block = points_of_block(program.graph.stages[host].domain.extents[side], lanes);
  if (block == 0) return std::nullopt;
  put_outermost(program, host, outer | bit(side));
  const int64_t steps[] = {block};
  program = tile(std::move(program), host, side, steps);
  std::optional<Program> made = attached_at(std::move(program), first, host, depth + 1);
  return made ? std::optional<InBlocks>({std::move(*made), block}) : std::nullopt;
}

// Vectors of a row and all that is summed of them, for a few points along an axis.
TileChoice tile_of_rows(const Program& program, size_t stage, size_t along) {
  const Stage& sums = program.graph.stages[stage];
  const size_t row = sums.domain.output_rank - 1;
  const int64_t elements = sums.domain.extents[row];
  TileChoice tile;
  tile.vector_axis = row;
  tile.lanes =
      lanes_for(elements, full_lanes(program.graph, sums, cpu_of(program.target).vector_bits));
  tile.factors.assign(sums.domain.rank(), 1);
  int64_t& vectors = tile.factors[row];
  vectors = std::min(thresholds().indexed_vectors, ceil_div(elements, tile.lanes));
  while (ceil_div(elements, tile.lanes) % vectors != 0) --vectors;
  if (sums.domain.extents[along] % thresholds().indexed_tile == 0)
    tile.factors[along] = thresholds().indexed_tile;
  int64_t corners = 1;
  for (size_t a = row + 1; a < sums.domain.rank(); ++a)
    if (corners * sums.domain.extents[a] <= thresholds().instances_at_once)
      corners *= tile.factors[a] = sums.domain.extents[a];
  tile.cycles = 2 * box_points(sums.domain) / static_cast<double>(tile.lanes);
  return tile;
}

// The tile of the sum along rows, within a block of its points where there are blocks.
TileChoice tile_along_rows(const Program& program, size_t stage, const RowSum& sum, int64_t block,
                           Choices& choices) {
  const Stage& s = program.graph.stages[stage];
  const Accesses accesses = accesses_of(program.graph, s);
  TileProblem problem{program.graph,          s, accesses, s.domain.extents,
                      cpu_of(program.target), 0, false,    program.calls};
  problem.task_axes = axes_of(sum.points & ~bit(sum.side));
  problem.in_pieces = true;
  if (block > 0) problem.spans[sum.side] = block;
  TileChoice tile = best_tile(problem, choices);
  if (block > 0) {
    // Blocks are of whole tiles.
    int64_t& instances = tile.factors[sum.side];
    while (block % (instances * (tile.vector_axis == sum.side ? tile.lanes : 1)) != 0) --instances;
    tile.cycles *= static_cast<double>(s.domain.extents[sum.side]) / static_cast<double>(block);
  }
  return tile;
}

// What a stage reads that it did not read before its operand was packed: a copy, maybe an old one.
std::optional<TensorId> read_instead(const Graph& before, size_t old, const Graph& graph,
                                     size_t stage) {
  const std::vector<TensorId> known = tensors_read(before, before.stages[old]);
  for (TensorId id : tensors_read(graph, graph.stages[stage]))
    if (std::ranges::find(known, id) == known.end()) return id;
  return std::nullopt;
}

double points_along(const Domain& domain, AxisSet axes) {
  double points = 1;
  for (size_t a : axes_of(axes)) points *= static_cast<double>(domain.extents[a]);
  return points;
}

bool is_few(double rows) {
  return rows >= 2 && rows <= static_cast<double>(thresholds().instances_at_once);
}

// Weights or places of neighbouring points in lanes, of all corners at once: they share most of
// what they compute.
TileChoice tile_of_corners(const Program& program, size_t stage) {
  const Nest& nest = nest_of(program, stage);
  const Stage& ahead = program.graph.stages[stage];
  const size_t last = ahead.domain.rank() - 1;
  TileChoice tile;
  tile.vector_axis = last;
  tile.lanes = lanes_for(nest.spans[last],
                         full_lanes(program.graph, ahead, cpu_of(program.target).vector_bits));
  tile.factors.assign(ahead.domain.rank(), 1);
  int64_t corners = 1;
  for (size_t a = 0; a < last; ++a)
    if (nest.spans[a] > 1 && corners * nest.spans[a] <= thresholds().instances_at_once)
      corners *= tile.factors[a] = nest.spans[a];
  tile.cycles = 2 * box_points(ahead.domain) / static_cast<double>(tile.lanes);
  return tile;
}

// The plans of what is computed in front of rows, stages [first, end) with two axes or more.
void plan_corners(const Program& program, size_t first, size_t end, ReductionPlans& plans) {
  for (size_t s = first; s < end; ++s) {
    const Nest& nest = nest_of(program, s);
    if (nest.spans.back() > 1)
      plans[stage_key(program.graph.stages[s])] = {.tile = tile_of_corners(program, s)};
  }
}

// Values in lanes of `side`, which what they are computed of has contiguous.
TileChoice tile_of_values(const Program& program, size_t stage, size_t side) {
  const Stage& values = program.graph.stages[stage];
  TileChoice tile;
  tile.vector_axis = side;
  tile.lanes = full_lanes(program.graph, values, cpu_of(program.target).vector_bits);
  tile.factors.assign(values.domain.rank(), 1);
  tile.cycles = 4 * box_points(values.domain) / static_cast<double>(tile.lanes);
  return tile;
}

// The scatter with its values, weights and places attached; nullopt where it is none, or too small.
std::optional<Program> weighed(const Program& program, size_t stage, ReductionPlans& plans) {
  Program made = program;
  const Stage& before = program.graph.stages[stage];
  const RowScatter rows = row_scatter(made.graph, before);
  if (rows.refusal) return std::nullopt;
  const int64_t lanes = full_lanes(program.graph, before, cpu_of(program.target).vector_bits);
  const int64_t elements = elements_with_room(program, stage, rows);
  const bool by_data = std::ranges::any_of(before.target, [&](ExprId target) {
    return contains_read(program.graph.pool, {&target, 1});
  });
  if (!by_data || elements < thresholds().filled_row ||
      elements % lanes_for(elements, lanes) != 0 ||
      !is_few(points_along(before.domain, rows.corners)) ||
      before.domain.extents[rows.side] < lanes)
    return std::nullopt;
  made = scatter_accumulate(std::move(made), stage);
  const size_t host = stage + made.graph.stages.size() - program.graph.stages.size();
  // The points' axes come first, in their order.
  const size_t side = axes_of(rows.points).size() - 1;
  std::optional<InBlocks> done =
      attached_in_blocks(std::move(made), stage, host, bit(side) - 1, side, lanes);
  if (!done) return std::nullopt;
  plan_corners(done->program, stage, host - 1, plans);
  plans[stage_key(done->program.graph.stages[host - 1])] = {
      .tile = tile_of_values(done->program, host - 1, side)};
  return std::move(done->program);
}

}  // namespace

int64_t whole_row(int64_t elements, int64_t lanes) {
  const int64_t width = ceil_div(elements, lanes) * lanes;
  return 4 * elements >= 3 * width ? width : elements;
}

Program accumulate_indexed_rows(Program program, ReductionPlans& plans) {
  for (size_t s = program.graph.stages.size(); s-- > 0;)
    if (program.graph.stages[s].kind == StageKind::Scatter)
      if (std::optional<Program> made = weighed(program, s, plans)) program = std::move(*made);
  return program;
}

std::optional<Program> with_summed_rows(const Program& program, size_t stage, TensorId operand,
                                        const Packing& packing, ReductionPlans& plans,
                                        Choices& choices) {
  const TensorInfo& info = program.graph.info(operand);
  const TensorId name = program.graph.stages[stage].results.front();
  const size_t rows = packing.dimensions.back().dim;
  const int64_t elements = info.shape[rows];
  const int64_t lanes =
      full_lanes(program.graph, program.graph.stages[stage], cpu_of(program.target).vector_bits);
  if (elements < thresholds().filled_row) return std::nullopt;
  Packing whole = packing;
  whole.padding_before.assign(info.shape.size(), 0);
  whole.padding_after.assign(info.shape.size(), 0);
  whole.padding_after[rows] = whole_row(elements, lanes) - elements;
  Program made = pack(program, stage, operand, whole);
  const size_t first = stage + made.graph.stages.size() - program.graph.stages.size();
  const std::optional<TensorId> copy = read_instead(program.graph, stage, made.graph, first);
  if (!copy) return std::nullopt;
  const RowSum sum = row_sum(made.graph, made.graph.stages[first], *copy);
  if (sum.refusal) return std::nullopt;
  const Domain domain = made.graph.stages[first].domain;
  if (domain.extents[sum.side] < lanes || !is_few(points_along(domain, sum.corners)))
    return std::nullopt;
  made = gather_reduce(std::move(made), first, *copy);
  const size_t host = stage + made.graph.stages.size() - program.graph.stages.size();
  std::optional<InBlocks> done = attached_in_blocks(std::move(made), first, host,
                                                    sum.points & ~bit(sum.side), sum.side, lanes);
  if (!done) return std::nullopt;
  made = std::move(done->program);
  plan_corners(made, first, host - 1, plans);
  const std::vector<size_t> points = axes_of(sum.points);
  const auto along = static_cast<size_t>(std::ranges::find(points, sum.side) - points.begin());
  plans[stage_key(made.graph.stages[host - 1])] = {.tile = tile_of_rows(made, host - 1, along)};
  plans[name.value] = {.tile = tile_along_rows(made, host, sum, done->block, choices)};
  return made;
}

}  // namespace adjit::sched
