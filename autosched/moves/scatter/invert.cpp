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
#include <optional>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/scatter/apart_axes.hpp"
#include "autosched/moves/scatter/inverted_scatter.hpp"
#include "autosched/moves/scatter/start.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/graph/identity.hpp"

namespace adjit::sched {
namespace {

std::vector<ExprId> coordinates_of(InvertedScatter& of) {
  std::vector<ExprId> here;
  for (size_t d = 0; d < of.shape.size(); ++d) here.push_back(of.pool.axis(d));
  return here;
}

// Over the elements of the result, whose rows are all of it;
// `fill`: of what it starts from.
Stage results_of_rows(InvertedScatter& of, TensorId blocks, int64_t piece,
                      std::optional<Fill> fill) {
  ExprPool& pool = of.pool;
  const std::vector<ExprId> here = coordinates_of(of);
  std::vector<ExprId> rows;
  for (const size_t d : of.axes.rows) rows.push_back(here[d]);
  const std::vector<ExprId> apart = *apart_at(pool, of.whole, of.axes, of.shape, here);
  Stage stage = computing(of.whole, of.shape);
  const ExprId row = of.row_number(rows);
  if (of.whole.combiner.kind == CombinerKind::None) {  // the last point is all that is left
    const ExprId end = of.small(of.inversion.offsets, pool.add(row, of.number(1)));
    const ExprId any = pool.make(Op::Lt, {of.small(of.inversion.offsets, row), end});
    const ExprId start =
        fill ? fill->value
             : pool.read(of.whole.initial, of.dtype(), here, pool.make(Op::Not, {any}));
    const ExprId last = of.term(pool.add(end, of.number(-1)), apart, any);
    stage.bodies = {pool.select(any, last, start)};
    return stage;
  }
  const ExprId place = pool.axis(of.shape.size());
  stage.domain.extents.push_back(of.places);
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
  of.inversion = invert_keys(of.program, of.stage,
                             {keys_of(of), saturating_product(of.row_extents), chunk, of.name});
  const bool in_pieces = piece > 0 && piece <= of.places;
  const TensorId blocks = in_pieces ? sums_of_blocks(of, piece) : TensorId{};
  const bool whole = apart_at(of.pool, of.whole, of.axes, of.shape, coordinates_of(of)).has_value();
  const std::optional<Fill> fill = whole ? fill_of_start(of.program, of.whole) : std::nullopt;
  const bool stores_all = fill || (whole && of.whole.combiner.kind == CombinerKind::None);
  of.graph.stages[of.stage] =
      stores_all ? results_of_rows(of, blocks, piece, fill) : scatter_of_rows(of, blocks, piece);
  reset_nest(of.program, of.stage);
  index_readers(of.program);
  if (!fill) return of.stage;
  const size_t unread[] = {fill->stage};
  remove_stages(of.program, unread);
  return of.stage - 1;
}

}  // namespace

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
  move.require(saturating_product(points) <= kMostInverted &&
                   saturating_product(rows) <= kMostInverted && saturating_product(all) < INT64_MAX,
               "its points or its rows are too many to be numbered");
  const size_t now = inverted(InvertedScatter(program, stage, axes), chunk, piece);
  Json arguments{{"chunk", chunk}};
  if (piece > 0) arguments["piece"] = piece;
  Move{move.name, program, now}.record(arguments);
  return program;
}

}  // namespace adjit::sched
