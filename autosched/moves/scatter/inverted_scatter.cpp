// autosched/moves/scatter/inverted_scatter.cpp -- what an inverted scatter is made of.
#include "autosched/moves/scatter/inverted_scatter.hpp"

#include "autosched/moves/scatter/start.hpp"
#include "autosched/program/limits.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/identity.hpp"

namespace adjit::sched {
namespace {

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

}  // namespace

int64_t saturating_product(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent, &product)) return INT64_MAX;
  return product;
}

ExprId InvertedScatter::term(ExprId place, std::span<const ExprId> apart, ExprId there) {
  const std::vector<ExprId> now = axes_at(small(inversion.order, place, there), apart);
  if (!whole.domain.is_box()) {
    const ExprId inside = inside_domain(*this, now);
    there = there.valid() ? pool.logical_and(there, inside) : inside;
  }
  return body_at(pool, whole.bodies[0], now, there);
}

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
  const ExprId none = of.number(saturating_product(of.row_extents));
  stage.bodies = {
      of.pool.cast(of.pool.select(inside, of.row_number(coordinates), none), DType::Int32)};
  return stage;
}

ExprId in_segment(ExprPool& pool, ExprId begin, ExprId place, ExprId end, ExprId value,
                  ExprId outside) {
  const ExprId inside =
      pool.logical_and(pool.make(Op::Le, {begin, place}), pool.make(Op::Lt, {place, end}));
  return pool.select(inside, value, outside);
}

TensorId sums_of_blocks(InvertedScatter& of, int64_t piece) {
  ExprPool& pool = of.pool;
  const int64_t blocks = of.places / piece;
  const ExprId first = pool.mul(pool.axis(0), of.number(piece));
  const ExprId row = key_at(pool, of.inversion, first);
  const ExprId last = key_at(pool, of.inversion, pool.add(first, of.number(piece - 1)));
  const ExprId rows = pool.constant_int(saturating_product(of.row_extents), DType::Int32);
  const ExprId whole =
      pool.logical_and(pool.make(Op::Eq, {row, last}), pool.make(Op::Lt, {row, rows}));
  std::vector<int64_t> shape{blocks};
  std::vector<ExprId> apart;
  for (const size_t a : of.axes.apart) {
    apart.push_back(pool.axis(shape.size()));
    shape.push_back(of.whole.domain.extents[a]);
  }
  Stage stage = computing(of.whole, shape);
  const ExprId place = pool.axis(shape.size());
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

}  // namespace adjit::sched
