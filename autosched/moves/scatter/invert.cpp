// autosched/moves/scatter/invert.cpp -- a scatter as sums that each row makes of the points that
// write it.
//
//   H[I[p], c] += X[p, c]    becomes, with the points sorted by I (inversion.hpp),
//   H[i, c] += X[order[q], c]    for offsets[i] <= q < offsets[i + 1]
// Rows are independent, and each combines its points in their order: the results are those of the
// scatter that goes through its points one after the other.
//
// With pieces no thread goes through a whole long row: the order is cut into blocks of so many
// places, and a block whose points are all one row's has a sum of its own. Row i is what stands
// before its first block, then, added to that, the sum of its blocks in their order and of what
// stands behind the last one. Where a row has no whole block, its result is the same as without.
// Where blocks begin in a row depends on how many points the rows before it have.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/scatter/inversion.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

int64_t product_of(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent, &product)) return INT64_MAX;
  return product;
}

// The only axis that a target uses, if it is an affine form of it.
std::optional<size_t> alone_in(const ExprPool& pool, const Stage& stage, ExprId target) {
  const std::optional<IndexForm> at = index_form(pool, target, stage.domain);
  if (!at) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t v = 0; v < at->form.size(); ++v) {
    if (at->form.coefficient(v) == 0) continue;
    if (axis || v >= stage.domain.rank()) return std::nullopt;
    axis = v;
  }
  return axis;
}

/// A scatter, and what stages over its rows, or over blocks of places, and the axes that write
/// apart are made of.
struct InvertedScatter {
  InvertedScatter(Program& scheduled, size_t at, const InvertedAxes& inverted)
      : program(scheduled),
        graph(scheduled.graph),
        pool(scheduled.graph.pool),
        stage(at),
        whole(scheduled.graph.stages[at]),
        name(stage_name(graph, whole)),
        shape(graph.info(whole.results[0]).shape),
        axes(inverted) {
    for (const size_t a : axes.points) point_extents.push_back(whole.domain.extents[a]);
    for (const size_t d : axes.rows) row_extents.push_back(shape[d]);
    places = product_of(point_extents);
  }

  DType dtype() const { return graph.info(whole.results[0]).dtype; }
  ExprId number(int64_t value) { return pool.constant_int(value); }
  ExprId small(TensorId tensor, ExprId index, ExprId predicate = {}) {
    const ExprId value = pool.read(tensor, DType::Int32, std::span(&index, 1), predicate);
    return pool.cast(value, DType::Int64);
  }

  // Axes of points at point number `at`.
  std::vector<ExprId> points_at(ExprId at) {
    std::vector<ExprId> now(whole.domain.rank(), at);
    unflatten(at, point_extents, [&](size_t k, ExprId axis) { now[axes.points[k]] = axis; });
    return now;
  }

  template <typename Put>
  void unflatten(ExprId at, const std::vector<int64_t>& extents, Put&& put) {
    int64_t below = 1;
    for (size_t k = extents.size(); k-- > 0; below *= extents[k]) {
      ExprId axis = at;
      if (below > 1) axis = pool.make(Op::FloorDiv, {axis, number(below)});
      if (k > 0) axis = pool.make(Op::Mod, {axis, number(extents[k])});
      put(k, axis);
    }
  }

  ExprId row_number(std::span<const ExprId> coordinates) {
    ExprId row = number(0);
    for (size_t k = 0; k < coordinates.size(); ++k)
      row = pool.add(pool.mul(row, number(row_extents[k])), coordinates[k]);
    return row;
  }

  // A stage over these rows, the axes that write apart and, if there are any, places.
  Stage stage_over(std::vector<int64_t> rows, int64_t places) {
    Stage over = whole;
    over.domain = Domain();
    for (const size_t a : axes.apart) rows.push_back(whole.domain.extents[a]);
    if (places > 0) rows.push_back(places);
    over.domain.extents = std::move(rows);
    return over;
  }
  ExprId place(size_t rows) { return pool.axis(rows + axes.apart.size()); }
  ExprId in_segment(ExprId begin, ExprId place, ExprId end, ExprId row) {
    const ExprId inside =
        pool.logical_and(pool.make(Op::Le, {begin, place}), pool.make(Op::Lt, {place, end}));
    return pool.select(inside, row, number(-1));
  }

  // The whole scatter's axes, where axis `rows + k` is the k-th that writes apart.
  std::vector<ExprId> axes_at(ExprId point, size_t rows) {
    std::vector<ExprId> now = points_at(point);
    for (size_t k = 0; k < axes.apart.size(); ++k) now[axes.apart[k]] = pool.axis(rows + k);
    return now;
  }
  ExprId term(size_t rows) {
    const std::vector<ExprId> now = axes_at(small(inversion.order, place(rows)), rows);
    return body_at(pool, whole.bodies[0], now, {});
  }
  // Into the result, from stages with so many axes of rows.
  std::vector<ExprId> targets(size_t rows, std::span<const ExprId> coordinates) {
    const std::vector<ExprId> now = axes_at(number(0), rows);
    std::vector<ExprId> target;
    for (const ExprId whole : whole.target) target.push_back(body_at(pool, whole, now, {}));
    for (size_t k = 0; k < coordinates.size(); ++k) target[axes.rows[k]] = coordinates[k];
    return target;
  }

  Program& program;
  LoweredGraph& graph;
  ExprPool& pool;
  size_t stage;
  const Stage whole;
  const std::string name;
  const std::vector<int64_t> shape;
  const InvertedAxes axes;
  std::vector<int64_t> point_extents, row_extents;
  int64_t places = 0;
  Inversion inversion;
};

ExprId inside_domain(InvertedScatter& of, std::span<const ExprId> now) {
  ExprId inside = of.pool.constant_int(1, DType::Bool);
  const auto value = [&](const Affine& form) {
    return body_at(of.pool, to_expr(of.pool, form, of.whole.domain), now, {});
  };
  for (const Affine& form : of.whole.domain.inequalities)
    inside = of.pool.logical_and(inside, of.pool.make(Op::Le, {of.number(0), value(form)}));
  for (const Affine& form : of.whole.domain.equalities)
    inside = of.pool.logical_and(inside, of.pool.make(Op::Eq, {of.number(0), value(form)}));
  return inside;
}

// The row of each point, or behind the last one for points outside the domain and such that write
// nothing.
Stage keys_of(InvertedScatter& of) {
  Stage stage;
  stage.domain.extents = {of.places};
  stage.domain.output_rank = 1;
  stage.lines = of.whole.lines;
  stage.region = of.whole.region;
  const std::vector<ExprId> now = of.points_at(of.pool.axis(0));
  ExprId inside = inside_domain(of, now);
  const ExprId guard = of.pool.is_true(inside) ? ExprId{} : inside;
  std::vector<ExprId> coordinates;
  for (const size_t d : of.axes.rows) {
    const ExprId target = body_at(of.pool, of.whole.target[d], now, guard);
    coordinates.push_back(target);
    const auto range = interval_of(of.pool, target, stage.domain.extents);
    if (!range || range->lo < 0)
      inside = of.pool.logical_and(inside, of.pool.make(Op::Le, {of.number(0), target}));
  }
  const ExprId none = of.number(product_of(of.row_extents));
  stage.bodies = {
      of.pool.cast(of.pool.select(inside, of.row_number(coordinates), none), DType::Int32)};
  return stage;
}

// Of long rows, what stands before their first whole block.
Stage sums_of_rows(InvertedScatter& of, int64_t piece) {
  const size_t rank = of.row_extents.size();
  Stage stage = of.stage_over(of.row_extents, of.places);
  std::vector<ExprId> rows;
  for (size_t k = 0; k < rank; ++k) rows.push_back(of.pool.axis(k));
  stage.bodies = {of.term(rank)};
  stage.target = of.targets(rank, rows);
  const ExprId row = of.row_number(rows);
  ExprId begin = of.small(of.inversion.offsets, row);
  ExprId end = of.small(of.inversion.offsets, of.pool.add(row, of.number(1)));
  if (of.whole.combiner.kind == CombinerKind::None)  // the last point is all that is left
    begin = of.pool.make(Op::Max, {begin, of.pool.add(end, of.number(-1))});
  if (of.inversion.blocks.valid()) {
    const ExprId first =
        of.pool.make(Op::FloorDiv, {of.pool.add(begin, of.number(piece - 1)), of.number(piece)});
    const ExprId behind = of.pool.make(Op::FloorDiv, {end, of.number(piece)});
    end = of.pool.select(of.pool.make(Op::Lt, {first, behind}),
                         of.pool.mul(first, of.number(piece)), end);
  }
  ExprId& first = stage.target[of.axes.rows[0]];
  first = of.in_segment(begin, of.place(rank), end, first);
  return stage;
}

// Long rows: the sum of each block of places that are all one row's, then those of the row.
class LongRows {
 public:
  explicit LongRows(InvertedScatter& of) : of_(of) {}

  // For the first whole block of each row: that and all places of the row behind it.
  TensorId sums_of_blocks(int64_t piece) {
    const ExprId block = of_.pool.axis(0), begin = of_.pool.mul(block, of_.number(piece));
    const ExprId whole = of_.pool.make(Op::Le, {of_.number(0), row_of_block()});
    const ExprId end =
        of_.pool.add(begin, of_.pool.select(whole, of_.number(piece), of_.number(0)));
    const TensorId each =
        block_segments(of_.places, of_.term(1), begin, end, start_of_blocks(), "_block_sums");
    std::vector<ExprId> index{of_.place(1)};
    for (size_t k = 0; k < of_.axes.apart.size(); ++k) index.push_back(of_.pool.axis(1 + k));
    const ExprId behind = of_.pool.make(Op::FloorDiv, {end_of_row(), of_.number(piece)});
    const TensorId together =
        block_segments(blocks(), of_.pool.read(each, of_.dtype(), index), block,
                       of_.pool.select(is_first(), behind, block), start_of_blocks(), "_long_rows");
    const ExprId rest = of_.pool.mul(behind, of_.number(piece));
    return block_segments(of_.places, of_.term(1), rest,
                          of_.pool.select(is_first(), end_of_row(), rest), together,
                          "_long_row_ends");
  }

  Stage sums_of_long_rows(TensorId sums, TensorId started) {
    Stage stage = of_.stage_over({blocks()}, 0);
    std::vector<ExprId> index{of_.pool.axis(0)};
    for (size_t k = 0; k < of_.axes.apart.size(); ++k) index.push_back(of_.pool.axis(1 + k));
    stage.bodies = {of_.pool.read(sums, of_.dtype(), index)};
    std::vector<ExprId> rows(of_.row_extents.size());
    of_.unflatten(row_of_block(), of_.row_extents, [&](size_t k, ExprId row) { rows[k] = row; });
    rows[0] = of_.pool.select(is_first(), rows[0], of_.number(-1));
    stage.target = of_.targets(1, rows);
    stage.initial = started;
    return stage;
  }

 private:
  int64_t blocks() const { return of_.graph.info(of_.inversion.blocks).element_count(); }
  ExprId row_of_block() { return of_.small(of_.inversion.blocks, of_.pool.axis(0)); }
  // Whether block number `axis 0` is the first whole one of its row.
  ExprId is_first() {
    const ExprId block = of_.pool.axis(0), row = row_of_block();
    const ExprId follows = of_.pool.make(Op::Lt, {of_.number(0), block});
    const ExprId before =
        of_.small(of_.inversion.blocks, of_.pool.add(block, of_.number(-1)), follows);
    const ExprId other = of_.pool.make(Op::Or, {of_.pool.make(Op::Eq, {block, of_.number(0)}),
                                                of_.pool.make(Op::Ne, {before, row})});
    return of_.pool.logical_and(of_.pool.make(Op::Le, {of_.number(0), row}), other);
  }
  // Place behind the last one of its row.
  ExprId end_of_row() {
    return of_.small(of_.inversion.offsets, of_.pool.add(row_of_block(), of_.number(1)));
  }

  // A row of columns for each block.
  TensorId put(Stage stage, const std::string& what) {
    std::vector<int64_t> shape{blocks()};
    for (const size_t a : of_.axes.apart) shape.push_back(of_.whole.domain.extents[a]);
    stage.results = {add_tensor(of_.graph, of_.name + what, of_.dtype(), shape)};
    const TensorId result = stage.results[0];
    insert_stage(of_.program, of_.stage++, std::move(stage));
    return result;
  }
  TensorId start_of_blocks() {
    Stage stage = of_.stage_over({blocks()}, 0);
    stage.kind = StageKind::Compute;
    stage.combiner = {};
    stage.domain.output_rank = stage.domain.rank();
    stage.bodies = {identity_of(of_.pool, of_.whole.combiner.kind, of_.dtype())};
    stage.target.clear();
    stage.initial = {};
    stage.out_of_range = OutOfRange::Error;
    return put(std::move(stage), "_block_sums_start");
  }
  TensorId block_segments(int64_t places, ExprId body, ExprId begin, ExprId end, TensorId initial,
                          const std::string& what) {
    Stage stage = of_.stage_over({blocks()}, places);
    stage.bodies = {body};
    stage.target = {of_.in_segment(begin, of_.place(1), end, of_.pool.axis(0))};
    for (size_t k = 0; k < of_.axes.apart.size(); ++k) stage.target.push_back(of_.pool.axis(1 + k));
    stage.initial = initial;
    return put(std::move(stage), what);
  }

  InvertedScatter& of_;
};

// Where the scatter stands then.
size_t inverted(InvertedScatter of, int64_t chunk, int64_t piece) {
  of.inversion = invert_keys(of.program, of.stage,
                             {keys_of(of), product_of(of.row_extents), chunk, piece, of.name});
  Stage last = sums_of_rows(of, piece);
  if (of.inversion.blocks.valid()) {
    LongRows long_rows(of);
    const TensorId sums = long_rows.sums_of_blocks(piece);
    last.results = {add_tensor(of.graph, of.name + "_short", of.dtype(), of.shape)};
    const TensorId started = last.results[0];
    insert_stage(of.program, of.stage++, std::move(last));
    last = long_rows.sums_of_long_rows(sums, started);
    of.graph.distinct.insert(stage_key(last));
  }
  of.graph.stages[of.stage] = std::move(last);
  reset_nest(of.program, of.stage);
  index_readers(of.program);
  return of.stage;
}

}  // namespace

InvertedAxes inverted_axes(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  InvertedAxes axes;
  std::vector<bool> apart(stage.domain.rank(), false);
  for (size_t d = 0; d < stage.target.size(); ++d) {
    const std::optional<size_t> axis = alone_in(pool, stage, stage.target[d]);
    bool owns = axis && !stage.domain.is_bounded(*axis);
    for (size_t other = 0; other < stage.target.size() && owns; ++other)
      owns = other == d || !uses(pool, stage.target[other], *axis);
    if (owns)
      apart[*axis] = true;
    else
      axes.rows.push_back(d);
  }
  for (size_t a = 0; a < apart.size(); ++a) (apart[a] ? axes.apart : axes.points).push_back(a);
  return axes;
}

Program invert(Program program, size_t stage, int64_t chunk, int64_t piece) {
  const Move move = begin_move("invert", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Scatter, "that is no scatter");
  move.require(!program.graph.distinct.contains(stage_key(whole)),
               "it writes each element once: its points are independent");
  move.require(!segments_of(program.graph.pool, whole), "it goes through segments already");
  move.require(chunk >= 2 && chunk <= kMostInverted, "a chunk must have 2 points or more");
  move.require(piece == 0 || (piece >= 2 && piece <= kMostInverted),
               "a piece must have 2 points or more");
  move.require(piece == 0 || has_partial_results(whole.combiner.kind),
               "its combiner has no partial results: no pieces");
  move.own_kernel("invert it before attaching others to it");
  const InvertedAxes axes = inverted_axes(program.graph, whole);
  move.require(
      !axes.rows.empty(),
      "there is no row that several of its points may write, or they all write the same ones");
  const std::vector<int64_t>& shape = program.graph.info(whole.results[0]).shape;
  std::vector<int64_t> points, rows, all, blocks;
  for (const size_t a : axes.points) points.push_back(whole.domain.extents[a]);
  for (const size_t d : axes.rows) rows.push_back(shape[d]);
  for (const size_t a : axes.apart) all.push_back(whole.domain.extents[a]);
  all.insert(all.end(), points.begin(), points.end());
  blocks = all;
  blocks.push_back(piece > 0 ? product_of(points) / piece : 1);
  all.insert(all.end(), rows.begin(), rows.end());
  move.require(std::ranges::count(all, 0) == 0, "it has no points, or no rows");
  move.require(product_of(points) <= kMostInverted && product_of(rows) <= kMostInverted &&
                   product_of(all) < INT64_MAX && product_of(blocks) < INT64_MAX,
               "its points or its rows are too many to be numbered");
  const size_t now = inverted(InvertedScatter(program, stage, axes), chunk, piece);
  Json arguments{{"chunk", chunk}};
  if (piece > 0) arguments["piece"] = piece;
  Move{move.name, program, now}.record(arguments);
  return program;
}

}  // namespace adjit::sched
