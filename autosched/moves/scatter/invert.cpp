// autosched/moves/scatter/invert.cpp -- a scatter as sums that each row makes of the points that
// write it.
//
//   H[I[p], c] += X[p, c]    becomes, with the points sorted by I (inversion.hpp),
//   H[i, c] += X[order[q], c]    for offsets[i] <= q < offsets[i + 1]
// Rows are independent, and each combines its points in their order: the results are those of the
// scatter that goes through its points one after the other. Where the scatter starts from nothing
// and its rows are all of the result, that is a reduction over a segment (segments.hpp), which
// stores each result once; else it is a scatter still.
//
// With pieces no thread goes through a whole long row: the order is cut into blocks of so many
// places, and a block whose points are all one row's has a sum of its own. Row i is what stands
// before its first block, then, added to that, the sums of its blocks in their order and what
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

// An axis in a target that is an affine form of axes, and what it is multiplied by there.
struct Digit {
  size_t axis = 0;
  int64_t scale = 1;
};

// The axes of a target that names another coordinate for each of their points: one, or several as
// digits of it, the least one first. Empty of other targets.
std::vector<Digit> digits_of(const ExprPool& pool, const Stage& stage, ExprId target) {
  const std::optional<IndexForm> at = index_form(pool, target, stage.domain);
  if (!at) return {};
  std::vector<Digit> digits;
  for (size_t v = 0; v < at->form.size(); ++v) {
    if (at->form.coefficient(v) == 0) continue;
    if (v >= stage.domain.rank()) return {};
    digits.push_back({v, at->form.coefficient(v)});
  }
  if (digits.size() == 1) return digits;
  std::ranges::sort(digits, {}, &Digit::scale);
  int64_t below = 0;  // the largest number that the digits before have
  for (const Digit& digit : digits) {
    if (digit.scale <= below) return {};
    const int64_t last = std::max<int64_t>(stage.domain.extents[digit.axis], 1) - 1;
    below = checked_add(below, checked_mul(digit.scale, last));
  }
  return digits;
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

  // The whole scatter's axes at a point, where those that write apart are `apart`.
  std::vector<ExprId> axes_at(ExprId point, std::span<const ExprId> apart) {
    std::vector<ExprId> now = points_at(point);
    for (size_t k = 0; k < axes.apart.size(); ++k) now[axes.apart[k]] = apart[k];
    return now;
  }
  // What the point at a place of the order adds; `there`: where it is read at all.
  ExprId term(ExprId place, std::span<const ExprId> apart, ExprId there = {}) {
    const std::vector<ExprId> now = axes_at(small(inversion.order, place, there), apart);
    return body_at(pool, whole.bodies[0], now, there);
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

// `value` at the places of a segment, elsewhere what adds nothing.
ExprId in_segment(ExprPool& pool, ExprId begin, ExprId place, ExprId end, ExprId value,
                  ExprId outside) {
  const ExprId inside =
      pool.logical_and(pool.make(Op::Le, {begin, place}), pool.make(Op::Lt, {place, end}));
  return pool.select(inside, value, outside);
}

// The sum of each block of so many places that are all one row's.
TensorId sums_of_blocks(InvertedScatter& of, int64_t piece) {
  ExprPool& pool = of.pool;
  const int64_t blocks = of.places / piece;
  const ExprId first = pool.mul(pool.axis(0), of.number(piece));
  const ExprId row = key_at(pool, of.inversion, first);
  const ExprId last = key_at(pool, of.inversion, pool.add(first, of.number(piece - 1)));
  const ExprId rows = pool.constant_int(product_of(of.row_extents), DType::Int32);
  const ExprId whole =
      pool.logical_and(pool.make(Op::Eq, {row, last}), pool.make(Op::Lt, {row, rows}));
  Stage stage = of.whole;
  stage.kind = StageKind::Compute;
  stage.target.clear();
  stage.initial = {};
  stage.out_of_range = OutOfRange::Error;
  stage.domain = Domain();
  stage.domain.extents = {blocks};
  std::vector<ExprId> apart;
  for (const size_t a : of.axes.apart) {
    apart.push_back(pool.axis(stage.domain.rank()));
    stage.domain.extents.push_back(of.whole.domain.extents[a]);
  }
  const std::vector<int64_t> shape = stage.domain.extents;
  stage.domain.output_rank = stage.domain.rank();
  const ExprId place = pool.axis(stage.domain.rank());
  stage.domain.extents.push_back(piece);
  const ExprId begin = pool.select(whole, of.number(0), of.number(piece));
  stage.bodies = {in_segment(pool, begin, place, of.number(piece),
                             of.term(pool.add(first, place), apart),
                             identity_of(pool, of.whole.combiner.kind, of.dtype()))};
  stage.results = {add_tensor(of.graph, of.name + "_block_sums", of.dtype(), shape)};
  const TensorId result = stage.results[0];
  insert_stage(of.program, of.stage++, std::move(stage));
  return result;
}

// What the rows combine: their points, or, where they have whole blocks, fewer places than that.
struct RowTerms {
  ExprId begin, end;  // of the places of a row
  ExprId value;       // at one of them
};

RowTerms terms_of_rows(InvertedScatter& of, ExprId row, ExprId place, std::span<const ExprId> apart,
                       TensorId blocks, int64_t piece) {
  ExprPool& pool = of.pool;
  RowTerms terms;
  terms.begin = of.small(of.inversion.offsets, row);
  terms.end = of.small(of.inversion.offsets, pool.add(row, of.number(1)));
  if (!blocks.valid()) {
    terms.value = of.term(place, apart);
    return terms;
  }
  const ExprId size = of.number(piece);
  const ExprId first = pool.make(Op::FloorDiv, {pool.add(terms.begin, of.number(piece - 1)), size});
  const ExprId behind = pool.make(Op::FloorDiv, {terms.end, size});
  const ExprId whole = pool.make(Op::Max, {pool.sub(behind, first), of.number(0)});
  const ExprId from = pool.mul(first, size);
  const ExprId left_out = pool.mul(whole, of.number(piece - 1));
  // Each of a row's whole blocks is one place.
  const ExprId before = pool.make(Op::Lt, {place, from});
  const ExprId further = pool.make(Op::Le, {pool.add(from, whole), place});
  const ExprId inside = pool.make(Op::Not, {pool.make(Op::Or, {before, further})});
  std::vector<ExprId> index{pool.add(first, pool.sub(place, from))};
  index.insert(index.end(), apart.begin(), apart.end());
  // There is a point to read for a block's place, too, and behind the row.
  const ExprId point = pool.make(
      Op::Min, {pool.select(before, place, pool.add(place, left_out)), of.number(of.places - 1)});
  terms.value =
      pool.select(inside, pool.read(blocks, of.dtype(), index, inside), of.term(point, apart));
  terms.end = pool.sub(terms.end, left_out);
  return terms;
}

std::vector<ExprId> coordinates_of(InvertedScatter& of) {
  std::vector<ExprId> here;
  for (size_t d = 0; d < of.shape.size(); ++d) here.push_back(of.pool.axis(d));
  return here;
}

// The axes that write apart, over the coordinates of the result; nullopt where they and the rows do
// not name all elements.
std::optional<std::vector<ExprId>> apart_at(InvertedScatter& of, std::span<const ExprId> here) {
  ExprPool& pool = of.pool;
  std::vector<ExprId> apart(of.axes.apart.size());
  for (size_t d = 0; d < of.shape.size(); ++d) {
    if (std::ranges::find(of.axes.rows, d) != of.axes.rows.end()) continue;
    const ExprId target = of.whole.target[d];
    const std::optional<IndexForm> at = index_form(pool, target, of.whole.domain);
    int64_t below = 1;
    for (const Digit& digit : digits_of(pool, of.whole, target)) {
      const int64_t extent = of.whole.domain.extents[digit.axis];
      if (digit.scale != below || at->form.constant() != 0) return std::nullopt;
      ExprId axis = here[d];
      if (below > 1) axis = pool.make(Op::FloorDiv, {axis, of.number(below)});
      below = checked_mul(below, extent);
      if (below < of.shape[d]) axis = pool.make(Op::Mod, {axis, of.number(extent)});
      const auto k = std::ranges::find(of.axes.apart, digit.axis) - of.axes.apart.begin();
      apart[static_cast<size_t>(k)] = axis;
    }
    if (below != of.shape[d]) return std::nullopt;
  }
  return apart;
}

// The stage of what a scatter starts from, where that is what adds nothing.
std::optional<size_t> stage_of_nothing(const InvertedScatter& of) {
  const size_t s = defining_stages(of.graph)[of.whole.initial.value];
  if (s == SIZE_MAX || !is_alone(of.program, s)) return std::nullopt;
  const Stage& stage = of.graph.stages[s];
  const ExprId nothing = identity_of(of.pool, of.whole.combiner.kind, of.dtype());
  const bool fills = stage.kind == StageKind::Compute && stage.domain.is_box() &&
                     stage.combiner.kind == CombinerKind::None && stage.bodies[0] == nothing;
  return fills ? std::optional(s) : std::nullopt;
}

// Over the elements of the result, whose rows are all of it.
Stage results_of_rows(InvertedScatter& of, TensorId blocks, int64_t piece) {
  ExprPool& pool = of.pool;
  const size_t rank = of.shape.size();
  const std::vector<ExprId> here = coordinates_of(of);
  std::vector<ExprId> rows;
  for (const size_t d : of.axes.rows) rows.push_back(here[d]);
  const std::vector<ExprId> apart = *apart_at(of, here);
  Stage stage = of.whole;
  stage.kind = StageKind::Compute;
  stage.target.clear();
  stage.initial = {};
  stage.out_of_range = OutOfRange::Error;
  stage.domain = Domain();
  stage.domain.extents = of.shape;
  stage.domain.output_rank = rank;
  const ExprId row = of.row_number(rows);
  if (of.whole.combiner.kind == CombinerKind::None) {  // the last point is all that is left
    const ExprId end = of.small(of.inversion.offsets, pool.add(row, of.number(1)));
    const ExprId any = pool.make(Op::Lt, {of.small(of.inversion.offsets, row), end});
    const ExprId nothing = pool.make(Op::Not, {any});
    stage.bodies = {pool.select(any, of.term(pool.add(end, of.number(-1)), apart, any),
                                pool.read(of.whole.initial, of.dtype(), here, nothing))};
    return stage;
  }
  stage.domain.extents.push_back(of.places);
  const ExprId place = pool.axis(rank);
  const RowTerms terms = terms_of_rows(of, row, place, apart, blocks, piece);
  stage.bodies = {in_segment(pool, terms.begin, place, terms.end, terms.value,
                             identity_of(pool, of.whole.combiner.kind, of.dtype()))};
  return stage;
}

// Over the rows and the axes that write apart, on top of what the scatter starts from.
Stage scatter_of_rows(InvertedScatter& of, TensorId blocks, int64_t piece) {
  ExprPool& pool = of.pool;
  Stage stage = of.whole;
  stage.domain = Domain();
  stage.domain.extents = of.row_extents;
  std::vector<ExprId> rows, apart;
  for (size_t k = 0; k < of.row_extents.size(); ++k) rows.push_back(pool.axis(k));
  for (const size_t a : of.axes.apart) {
    apart.push_back(pool.axis(stage.domain.rank()));
    stage.domain.extents.push_back(of.whole.domain.extents[a]);
  }
  const ExprId place = pool.axis(stage.domain.rank());
  stage.domain.extents.push_back(of.places);
  RowTerms terms = terms_of_rows(of, of.row_number(rows), place, apart, blocks, piece);
  if (of.whole.combiner.kind == CombinerKind::None)  // the last point is all that is left
    terms.begin = pool.make(Op::Max, {terms.begin, pool.add(terms.end, of.number(-1))});
  stage.bodies = {terms.value};
  const std::vector<ExprId> now = of.axes_at(of.number(0), apart);
  for (ExprId& target : stage.target) target = body_at(pool, target, now, {});
  for (size_t k = 0; k < rows.size(); ++k) stage.target[of.axes.rows[k]] = rows[k];
  ExprId& first = stage.target[of.axes.rows[0]];
  first = in_segment(pool, terms.begin, place, terms.end, first, of.number(-1));
  return stage;
}

// Where the stage stands then.
size_t inverted(InvertedScatter of, int64_t chunk, int64_t piece) {
  of.inversion =
      invert_keys(of.program, of.stage, {keys_of(of), product_of(of.row_extents), chunk, of.name});
  const bool in_pieces = piece > 0 && piece <= of.places;
  const TensorId blocks = in_pieces ? sums_of_blocks(of, piece) : TensorId{};
  const bool whole = apart_at(of, coordinates_of(of)).has_value();
  const std::optional<size_t> nothing = whole ? stage_of_nothing(of) : std::nullopt;
  const bool is_last = whole && of.whole.combiner.kind == CombinerKind::None;
  const bool stores_all = nothing || is_last;
  of.graph.stages[of.stage] =
      stores_all ? results_of_rows(of, blocks, piece) : scatter_of_rows(of, blocks, piece);
  reset_nest(of.program, of.stage);
  index_readers(of.program);
  if (!nothing || is_last) return of.stage;
  const size_t unread[] = {*nothing};
  remove_stages(of.program, unread);
  return of.stage - 1;
}

}  // namespace

InvertedAxes inverted_axes(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  InvertedAxes axes;
  std::vector<bool> apart(stage.domain.rank(), false);
  for (size_t d = 0; d < stage.target.size(); ++d) {
    const std::vector<Digit> digits = digits_of(pool, stage, stage.target[d]);
    const auto owns = [&](const Digit& digit) {
      if (stage.domain.is_bounded(digit.axis)) return false;
      for (size_t other = 0; other < stage.target.size(); ++other)
        if (other != d && uses(pool, stage.target[other], digit.axis)) return false;
      return true;
    };
    if (digits.empty() || !std::ranges::all_of(digits, owns)) {
      axes.rows.push_back(d);
      continue;
    }
    for (const Digit& digit : digits) apart[digit.axis] = true;
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
  std::vector<int64_t> points, rows, all;
  for (const size_t a : axes.points) points.push_back(whole.domain.extents[a]);
  for (const size_t d : axes.rows) rows.push_back(shape[d]);
  for (const size_t a : axes.apart) all.push_back(whole.domain.extents[a]);
  all.insert(all.end(), points.begin(), points.end());
  all.insert(all.end(), rows.begin(), rows.end());
  move.require(std::ranges::count(all, 0) == 0, "it has no points, or no rows");
  move.require(product_of(points) <= kMostInverted && product_of(rows) <= kMostInverted &&
                   product_of(all) < INT64_MAX,
               "its points or its rows are too many to be numbered");
  const size_t now = inverted(InvertedScatter(program, stage, axes), chunk, piece);
  Json arguments{{"chunk", chunk}};
  if (piece > 0) arguments["piece"] = piece;
  Move{move.name, program, now}.record(arguments);
  return program;
}

}  // namespace adjit::sched
