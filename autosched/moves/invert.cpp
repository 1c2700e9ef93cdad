// autosched/moves/invert.cpp -- a scatter as sums that each row makes of the points that write it.
//
//   H[I[p], c] += X[p, c]    becomes, with the points sorted by I (inversion.hpp),
//   H[i, c] += X[order[q], c]    for offsets[i] <= q < offsets[i + 1]
// Rows are independent, and each combines its points in their order: the bits are those of the
// scatter that goes through its points one after the other.
//
// With pieces no row takes longer than some hundred points: the order is cut into blocks of so many
// places, and a block whose points are all one row's has a sum of its own. Row i is what stands
// before its first block, then, added to that, the sum of its blocks in their order and of what
// stands behind the last one. Where a row has no whole block, the bits are the same as without.
#include <algorithm>

#include "autosched/moves/inversion.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
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

/// Stages over all rows, or blocks of places, and the axes that write apart.
class Inverting {
 public:
  Inverting(Program& program, size_t stage, const InvertedAxes& axes)
      : program_(program),
        graph_(program.graph),
        pool_(program.graph.pool),
        stage_(stage),
        whole_(program.graph.stages[stage]),
        name_(stage_name(graph_, whole_)),
        shape_(graph_.info(whole_.results[0]).shape),
        axes_(axes) {
    for (const size_t a : axes_.points) point_extents_.push_back(whole_.domain.extents[a]);
    for (const size_t d : axes_.rows) row_extents_.push_back(shape_[d]);
    places_ = product_of(point_extents_);
  }

  /// Where the scatter stands then.
  size_t operator()(int64_t chunk, int64_t piece) {
    inversion_ =
        invert_keys(program_, stage_, {keys(), product_of(row_extents_), chunk, piece, name_});
    Stage last = sums_of_rows(piece);
    if (inversion_.blocks.valid()) {
      const TensorId sums = sums_of_blocks(piece);
      last.results = {add_tensor(graph_, name_ + "_short", dtype(), shape_)};
      const TensorId started = last.results[0];
      insert_stage(program_, stage_++, std::move(last));
      last = sums_of_long_rows(sums, started);
      graph_.distinct.insert(stage_key(last));
    }
    graph_.stages[stage_] = std::move(last);
    reset_nest(program_, stage_);
    index_readers(program_);
    return stage_;
  }

 private:
  DType dtype() const { return graph_.info(whole_.results[0]).dtype; }
  ExprId number(int64_t value) { return pool_.constant_int(value); }
  ExprId small(TensorId tensor, ExprId index, ExprId predicate = {}) {
    const ExprId value = pool_.read(tensor, DType::Int32, std::span(&index, 1), predicate);
    return pool_.cast(value, DType::Int64);
  }

  // Axes of points at point number `at`.
  std::vector<ExprId> points_at(ExprId at) {
    std::vector<ExprId> now(whole_.domain.rank(), at);
    unflatten(at, point_extents_, [&](size_t k, ExprId axis) { now[axes_.points[k]] = axis; });
    return now;
  }

  template <typename Put>
  void unflatten(ExprId at, const std::vector<int64_t>& extents, Put&& put) {
    int64_t below = 1;
    for (size_t k = extents.size(); k-- > 0; below *= extents[k]) {
      ExprId axis = at;
      if (below > 1) axis = pool_.make(Op::FloorDiv, {axis, number(below)});
      if (k > 0) axis = pool_.make(Op::Mod, {axis, number(extents[k])});
      put(k, axis);
    }
  }

  ExprId row_number(std::span<const ExprId> coordinates) {
    ExprId row = number(0);
    for (size_t k = 0; k < coordinates.size(); ++k)
      row = pool_.add(pool_.mul(row, number(row_extents_[k])), coordinates[k]);
    return row;
  }

  // The row of each point, or behind the last one for points outside the domain and such that write
  // nothing.
  Stage keys() {
    Stage stage;
    stage.domain.extents = {places_};
    stage.domain.output_rank = 1;
    stage.lines = whole_.lines;
    stage.region = whole_.region;
    const std::vector<ExprId> now = points_at(pool_.axis(0));
    ExprId inside = inside_domain(now);
    const ExprId guard = pool_.is_true(inside) ? ExprId{} : inside;
    std::vector<ExprId> coordinates;
    for (const size_t d : axes_.rows) {
      const ExprId target = body_at(pool_, whole_.target[d], now, guard);
      coordinates.push_back(target);
      const auto range = interval_of(pool_, target, stage.domain.extents);
      if (!range || range->lo < 0)
        inside = pool_.logical_and(inside, pool_.make(Op::Le, {number(0), target}));
    }
    const ExprId none = number(product_of(row_extents_));
    stage.bodies = {pool_.cast(pool_.select(inside, row_number(coordinates), none), DType::Int32)};
    return stage;
  }

  ExprId inside_domain(std::span<const ExprId> now) {
    ExprId inside = pool_.constant_int(1, DType::Bool);
    const auto value = [&](const Affine& form) {
      return body_at(pool_, to_expr(pool_, form, whole_.domain), now, {});
    };
    for (const Affine& form : whole_.domain.inequalities)
      inside = pool_.logical_and(inside, pool_.make(Op::Le, {number(0), value(form)}));
    for (const Affine& form : whole_.domain.equalities)
      inside = pool_.logical_and(inside, pool_.make(Op::Eq, {number(0), value(form)}));
    return inside;
  }

  // A stage over these rows, the axes that write apart and, if there are any, places.
  Stage stage_over(std::vector<int64_t> rows, int64_t places) {
    Stage stage = whole_;
    stage.domain = Domain();
    for (const size_t a : axes_.apart) rows.push_back(whole_.domain.extents[a]);
    if (places > 0) rows.push_back(places);
    stage.domain.extents = std::move(rows);
    return stage;
  }
  ExprId place(size_t rows) { return pool_.axis(rows + axes_.apart.size()); }
  ExprId in_segment(ExprId begin, ExprId place, ExprId end, ExprId row) {
    const ExprId inside =
        pool_.logical_and(pool_.make(Op::Le, {begin, place}), pool_.make(Op::Lt, {place, end}));
    return pool_.select(inside, row, number(-1));
  }

  // The whole scatter's axes, where axis `rows + k` is the k-th that writes apart.
  std::vector<ExprId> axes_at(ExprId point, size_t rows) {
    std::vector<ExprId> now = points_at(point);
    for (size_t k = 0; k < axes_.apart.size(); ++k) now[axes_.apart[k]] = pool_.axis(rows + k);
    return now;
  }
  ExprId term(size_t rows) {
    const std::vector<ExprId> now = axes_at(small(inversion_.order, place(rows)), rows);
    return body_at(pool_, whole_.bodies[0], now, {});
  }
  // Into the result, from stages with so many axes of rows.
  std::vector<ExprId> targets(size_t rows, std::span<const ExprId> coordinates) {
    const std::vector<ExprId> now = axes_at(number(0), rows);
    std::vector<ExprId> target;
    for (const ExprId whole : whole_.target) target.push_back(body_at(pool_, whole, now, {}));
    for (size_t k = 0; k < coordinates.size(); ++k) target[axes_.rows[k]] = coordinates[k];
    return target;
  }

  // Of long rows, what stands before their first whole block.
  Stage sums_of_rows(int64_t piece) {
    const size_t rank = row_extents_.size();
    Stage stage = stage_over(row_extents_, places_);
    std::vector<ExprId> rows;
    for (size_t k = 0; k < rank; ++k) rows.push_back(pool_.axis(k));
    stage.bodies = {term(rank)};
    stage.target = targets(rank, rows);
    const ExprId row = row_number(rows);
    ExprId begin = small(inversion_.offsets, row);
    ExprId end = small(inversion_.offsets, pool_.add(row, number(1)));
    if (whole_.combiner.kind == CombinerKind::None)  // the last point is all that is left
      begin = pool_.make(Op::Max, {begin, pool_.add(end, number(-1))});
    if (inversion_.blocks.valid()) {
      const ExprId first =
          pool_.make(Op::FloorDiv, {pool_.add(begin, number(piece - 1)), number(piece)});
      const ExprId behind = pool_.make(Op::FloorDiv, {end, number(piece)});
      end = pool_.select(pool_.make(Op::Lt, {first, behind}), pool_.mul(first, number(piece)), end);
    }
    ExprId& first = stage.target[axes_.rows[0]];
    first = in_segment(begin, place(rank), end, first);
    return stage;
  }

  // ---- Long rows: the sum of each block of places that are all one row's, then those of the row.

  int64_t blocks() const { return graph_.info(inversion_.blocks).element_count(); }
  ExprId row_of_block() { return small(inversion_.blocks, pool_.axis(0)); }
  // Whether block number `axis 0` is the first whole one of its row.
  ExprId is_first() {
    const ExprId block = pool_.axis(0), row = row_of_block();
    const ExprId follows = pool_.make(Op::Lt, {number(0), block});
    const ExprId before = small(inversion_.blocks, pool_.add(block, number(-1)), follows);
    const ExprId other = pool_.make(
        Op::Or, {pool_.make(Op::Eq, {block, number(0)}), pool_.make(Op::Ne, {before, row})});
    return pool_.logical_and(pool_.make(Op::Le, {number(0), row}), other);
  }
  // Place behind the last one of its row.
  ExprId end_of_row() { return small(inversion_.offsets, pool_.add(row_of_block(), number(1))); }

  // A row of columns for each block.
  TensorId put(Stage stage, const std::string& what) {
    std::vector<int64_t> shape{blocks()};
    for (const size_t a : axes_.apart) shape.push_back(whole_.domain.extents[a]);
    stage.results = {add_tensor(graph_, name_ + what, dtype(), shape)};
    const TensorId result = stage.results[0];
    insert_stage(program_, stage_++, std::move(stage));
    return result;
  }
  TensorId start_of_blocks() {
    Stage stage = stage_over({blocks()}, 0);
    stage.kind = StageKind::Compute;
    stage.combiner = {};
    stage.domain.output_rank = stage.domain.rank();
    stage.bodies = {identity_of(pool_, whole_.combiner.kind, dtype())};
    stage.target.clear();
    stage.initial = {};
    stage.out_of_range = OutOfRange::Error;
    return put(std::move(stage), "_block_sums_start");
  }
  TensorId block_segments(int64_t places, ExprId body, ExprId begin, ExprId end, TensorId initial,
                          const std::string& what) {
    Stage stage = stage_over({blocks()}, places);
    stage.bodies = {body};
    stage.target = {in_segment(begin, place(1), end, pool_.axis(0))};
    for (size_t k = 0; k < axes_.apart.size(); ++k) stage.target.push_back(pool_.axis(1 + k));
    stage.initial = initial;
    return put(std::move(stage), what);
  }

  // For the first whole block of each row: that and all places of the row behind it.
  TensorId sums_of_blocks(int64_t piece) {
    const ExprId block = pool_.axis(0), begin = pool_.mul(block, number(piece));
    const ExprId whole = pool_.make(Op::Le, {number(0), row_of_block()});
    const ExprId end = pool_.add(begin, pool_.select(whole, number(piece), number(0)));
    const TensorId each =
        block_segments(places_, term(1), begin, end, start_of_blocks(), "_block_sums");
    std::vector<ExprId> index{place(1)};
    for (size_t k = 0; k < axes_.apart.size(); ++k) index.push_back(pool_.axis(1 + k));
    const ExprId behind = pool_.make(Op::FloorDiv, {end_of_row(), number(piece)});
    const TensorId together =
        block_segments(blocks(), pool_.read(each, dtype(), index), block,
                       pool_.select(is_first(), behind, block), start_of_blocks(), "_long_rows");
    const ExprId rest = pool_.mul(behind, number(piece));
    return block_segments(places_, term(1), rest, pool_.select(is_first(), end_of_row(), rest),
                          together, "_long_row_ends");
  }

  Stage sums_of_long_rows(TensorId sums, TensorId started) {
    Stage stage = stage_over({blocks()}, 0);
    std::vector<ExprId> index{pool_.axis(0)};
    for (size_t k = 0; k < axes_.apart.size(); ++k) index.push_back(pool_.axis(1 + k));
    stage.bodies = {pool_.read(sums, dtype(), index)};
    std::vector<ExprId> rows(row_extents_.size());
    unflatten(row_of_block(), row_extents_, [&](size_t k, ExprId row) { rows[k] = row; });
    rows[0] = pool_.select(is_first(), rows[0], number(-1));
    stage.target = targets(1, rows);
    stage.initial = started;
    return stage;
  }

  Program& program_;
  LoweredGraph& graph_;
  ExprPool& pool_;
  size_t stage_;
  const Stage whole_;
  const std::string name_;
  const std::vector<int64_t> shape_;
  const InvertedAxes axes_;
  std::vector<int64_t> point_extents_, row_extents_;
  int64_t places_ = 0;
  Inversion inversion_;
};

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
  move.require(!axes.rows.empty(), "all its points write apart");
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
  const size_t now = Inverting(program, stage, axes)(chunk, piece);
  Json arguments{{"chunk", chunk}};
  if (piece > 0) arguments["piece"] = piece;
  Move{move.name, program, now}.record(arguments);
  return program;
}

}  // namespace adjit::sched
