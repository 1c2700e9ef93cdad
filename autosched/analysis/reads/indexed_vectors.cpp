// autosched/analysis/reads/indexed_vectors.cpp -- weights and places of rows, computed before the
// rows are read.
#include "autosched/analysis/reads/indexed_vectors.hpp"

#include <algorithm>

#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// Of select(c, -x, x) and select(c, x, -x), x; invalid of others.
ExprId without_sign(const ExprPool& pool, ExprId expr) {
  if (!pool.is(expr, Op::Select)) return {};
  const ExprId yes = pool.operand(expr, 1), no = pool.operand(expr, 2);
  if (pool.is(yes, Op::Neg) && pool.operand(yes, 0) == no) return no;
  if (pool.is(no, Op::Neg) && pool.operand(no, 0) == yes) return yes;
  return {};
}

// A stage over some axes of the domain, the lanes' one last, in front of `stage`, that computes
// `part`; the read of its result.
ExprId ahead(Program& program, size_t& stage, const std::string& name, const WeighedRows& rows,
             ExprId part) {
  Graph& graph = program.graph;
  ExprPool& pool = graph.pool;
  std::vector<size_t> axes = axes_of(axes_used(pool, part));
  std::ranges::stable_partition(axes, [&](size_t a) { return a != rows.along; });
  std::vector<ExprId> there(rows.domain.rank(), pool.axis(0)), here;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < axes.size(); ++d) {
    there[axes[d]] = pool.axis(d);
    here.push_back(pool.axis(axes[d]));
    shape.push_back(rows.domain.extents[axes[d]]);
  }
  Stage made;
  made.domain = shape_box(shape);
  made.bodies = {body_at(pool, part, there, {})};
  made.results = {add_tensor(graph, name, pool.dtype(part), shape)};
  made.lines = graph.stages[stage].lines;
  made.region = graph.stages[stage].region;
  const ExprId read = pool.read(made.results[0], pool.dtype(part), here);
  insert_stage(program, stage++, std::move(made));
  return read;
}

}  // namespace

Product factors_with_signs(ExprPool& pool, ExprId body) {
  Product product, whole = factors_of(pool, body);
  product.negative = whole.negative;
  for (const Factor& factor : whole.factors) {
    const ExprId rest = without_sign(pool, factor.expr);
    if (!rest.valid()) {
      product.factors.push_back(factor);
      continue;
    }
    const DType dtype = pool.dtype(rest);
    const bool yes = pool.operand(factor.expr, 2) == rest;
    const ExprId sign =
        pool.make(Op::Select, {pool.operand(factor.expr, 0), pool.constant(yes ? -1 : 1, dtype),
                               pool.constant(yes ? 1 : -1, dtype)});
    product.factors.push_back({sign, factor.inverse, axes_used(pool, sign)});
    const Product inner = factors_of(pool, rest);
    product.negative ^= inner.negative;
    for (const Factor& f : inner.factors)
      product.factors.push_back({f.expr, f.inverse != factor.inverse, f.axes});
  }
  return product;
}

bool box_is_empty(const Domain& domain) { return std::ranges::count(domain.extents, 0) > 0; }

bool has_short_places(std::span<const int64_t> shape) {
  return std::ranges::all_of(shape, [](int64_t extent) { return extent <= INT32_MAX; });
}

std::vector<size_t> axes_of(AxisSet set) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < 64; ++a)
    if (set & bit(a)) axes.push_back(a);
  return axes;
}

void compute_ahead(Program& program, size_t& stage, const std::string& name, WeighedRows& rows) {
  ExprPool& pool = program.graph.pool;
  for (ExprId& weights : rows.weights)
    if (weights.valid() && axes_used(pool, weights) &&
        WorkMeter(pool)(std::span(&weights, 1)).cost > thresholds().cost_in_turn)
      weights = ahead(program, stage, name + "_weights", rows, weights);
  for (ExprId& place : rows.places) {
    if ((axes_used(pool, place) & bit(rows.along)) == 0 || index_form(pool, place, rows.domain))
      continue;
    const ExprId short_place = pool.cast(place, DType::Int32);
    place = pool.cast(ahead(program, stage, name + "_places", rows, short_place), DType::Int64);
  }
}

}  // namespace adjit::sched
