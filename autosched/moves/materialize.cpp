// autosched/moves/materialize.cpp -- factors of a sum as a stage of their own.
//
//   y[o, x] = sum over c, k of w[o, c, k] * i[c, x + k - 1], 0 <= x + k - 1 < 9
// with its second factor as a stage is a sum over a box, of elements at its axes:
//   f[x, c, k] = i[c, x + k - 1] where 0 <= x + k - 1 < 9, else 0
//   y[o, x] = sum over c, k of w[o, c, k] * f[x, c, k]
#include <algorithm>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/moving_axes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/zero_factors.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The product of those factors that are to be a stage, and that of the others.
struct Parts {
  ExprId value;
  bool cast = false;  // of the value, to the body's dtype, where it is read
  diff::Product rest;
};

Parts parts_of(const Move& move, ExprPool& pool, std::span<const size_t> factors) {
  const ExprId body = move.stage_ref().bodies.front();
  const DType dtype = pool.dtype(body);
  Parts parts;
  parts.rest = factors_of(pool, body);
  move.require(std::ranges::adjacent_find(factors, std::greater_equal{}) == factors.end() &&
                   !factors.empty() && factors.back() < parts.rest.factors.size(),
               "the factors must be distinct ones of its product, ascending");
  move.require(factors.size() < parts.rest.factors.size(), "those are all factors of its product");
  diff::Product product;
  std::swap(product.negative, parts.rest.negative);
  for (size_t f : factors) product.factors.push_back(parts.rest.factors[f]);
  for (size_t f = factors.size(); f-- > 0;)
    parts.rest.factors.erase(parts.rest.factors.begin() + static_cast<std::ptrdiff_t>(factors[f]));
  parts.value = product_of(pool, product, dtype);
  if (pool.is(parts.value, Op::Cast) && pool.is(pool.operand(parts.value, 0), Op::Read)) {
    parts.value = pool.operand(parts.value, 0);
    parts.cast = true;
  }
  move.require(pool.is(parts.value, Op::Read) || accumulator_of(dtype) == dtype,
               "factors of half types would be rounded");
  return parts;
}

std::vector<TensorId> tensors_of(const ExprPool& pool, const diff::Product& product) {
  std::vector<ExprId> roots;
  for (const diff::Factor& factor : product.factors) roots.push_back(factor.expr);
  std::vector<TensorId> tensors;
  for (ExprId id : reachable(pool, roots))
    if (pool.is(id, Op::Read)) tensors.push_back(pool.read_tensor(id));
  return tensors;
}

// Moves the rows over these axes alone from one domain to the other, which has the same variables.
void move_rows(const std::vector<bool>& axes, Domain& from, Domain& to) {
  const auto move = [&](std::vector<Affine>& rows, std::vector<Affine>& moved) {
    std::erase_if(rows, [&](const Affine& row) {
      std::vector<bool> used(axes.size(), false);
      from.mark_axes(row, used);
      for (size_t a = 0; a < axes.size(); ++a)
        if (used[a] && !axes[a]) return false;
      moved.push_back(row);
      return true;
    });
  };
  move(from.inequalities, to.inequalities);
  move(from.equalities, to.equalities);
}

// A row of a domain, and the same as an expression.
struct Bound {
  Affine row;
  ExprId condition;
};

// That the reads in an expression are inside their tensors, as forms over the domain.
std::vector<Bound> bounds_of(Graph& graph, ExprId value, const Domain& domain) {
  ExprPool& pool = graph.pool;
  std::vector<Bound> bounds;
  const ExprId roots[] = {value};
  for (ExprId id : reachable(pool, roots)) {
    if (!pool.is(id, Op::Read)) continue;
    const std::vector<int64_t>& shape = graph.info(pool.read_tensor(id)).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const ExprId index = pool.read_index(id)[d];
      const std::optional<IndexForm> at = index_form(pool, index, domain);
      if (!at || at->domain != domain) continue;
      bounds.push_back({at->form, pool.make(Op::Le, {pool.constant_int(0), index})});
      bounds.push_back({Affine(shape[d] - 1) - at->form,
                        pool.make(Op::Lt, {index, pool.constant_int(shape[d])})});
    }
  }
  return bounds;
}

// Whether a point is in a domain, in the words of these bounds where they are its rows; invalid: at
// every one.
ExprId contained(ExprPool& pool, const Domain& domain, std::span<const Bound> bounds) {
  const ExprId zero = pool.constant_int(0);
  ExprId all;
  for (const Affine& row : domain.inequalities) {
    const auto bound = std::ranges::find(bounds, row, &Bound::row);
    all = both(pool, all,
               bound != bounds.end() ? bound->condition
                                     : pool.make(Op::Le, {zero, to_expr(pool, row, domain)}));
  }
  for (const Affine& row : domain.equalities)
    all = both(pool, all, pool.make(Op::Eq, {to_expr(pool, row, domain), zero}));
  return all;
}

bool same_rows(const Domain& a, const Domain& b) {
  return a.inequalities.size() == b.inequalities.size() &&
         a.equalities.size() == b.equalities.size();
}

// An expression with bounds at the reads that `after`, which has fewer rows than `before`, does not
// prove to be inside their tensors: rows that are gone excluded points outside.
ExprId with_bounds(Graph& graph, ExprId value, const Domain& before, const Domain& after) {
  if (same_rows(before, after)) return value;
  ExprPool& pool = graph.pool;
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (!pool.is(leaf, Op::Read)) return ExprId{};
    const TensorId tensor = pool.read_tensor(leaf);
    const std::vector<int64_t>& shape = graph.info(tensor).shape;
    const std::vector<ExprId> index(operands.begin(), operands.begin() + std::ssize(shape));
    ExprId predicate = operands.size() > shape.size() ? operands.back() : ExprId{};
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!index_form(pool, index[d], after)) continue;  // data, which is checked where it is read
      const auto [from_zero, below] = proven_sides(pool, after, index[d], shape[d]);
      if (!from_zero)
        predicate = both(pool, predicate, pool.make(Op::Le, {pool.constant_int(0), index[d]}));
      if (!below)
        predicate =
            both(pool, predicate, pool.make(Op::Lt, {index[d], pool.constant_int(shape[d])}));
    }
    return pool.read(tensor, pool.dtype(leaf), index, predicate);
  });
  return rebuild(value);
}

// The stage that computes the value over its axes, 0 outside of `inside`; without its result.
Stage stage_over(Graph& graph, ExprId value, const Domain& inside, const std::vector<bool>& axes) {
  ExprPool& pool = graph.pool;
  Stage made;
  std::vector<ExprId> now(axes.size(), pool.constant_int(0));
  for (size_t a = 0; a < axes.size(); ++a) {
    if (!axes[a]) continue;
    now[a] = pool.axis(made.domain.extents.size());
    made.domain.extents.push_back(inside.extents[a]);
  }
  made.domain.output_rank = made.domain.extents.size();
  ExprId condition = contained(pool, inside, bounds_of(graph, value, inside));
  if (condition.valid()) condition = body_at(pool, condition, now, {});
  ExprId body = body_at(pool, value, now, condition);
  if (condition.valid() && !pool.is(value, Op::Read))
    body = pool.select(condition, body, pool.constant(0, pool.dtype(body)));
  made.bodies = {body};
  return made;
}

void require_operands(const Move& move, ExprId value) {
  const Program& program = move.program;
  const ExprId roots[] = {value};
  for (ExprId id : reachable(program.graph.pool, roots)) {
    if (!program.graph.pool.is(id, Op::Read)) continue;
    const TensorId operand = program.graph.pool.read_tensor(id);
    move.require(program.scopes[operand.value] != Scope::Local &&
                     complete_from(program, operand) <= move.stage,
                 "an operand is computed in the loops of a kernel that is not done");
  }
}

}  // namespace

Program materialize(Program program, size_t stage, std::span<const size_t> factors) {
  const Move move = begin_move("materialize", program, stage);
  Graph& graph = program.graph;
  ExprPool& pool = graph.pool;
  move.require(move.stage_ref().kind == StageKind::Compute &&
                   !running_of(program.graph, move.stage_ref()) &&
                   is_product_sum(graph, move.stage_ref()),
               "only sums of products have factors");
  move.own_kernel("make a stage of its factors before attaching it or others to it");
  Parts parts = parts_of(move, pool, factors);
  require_operands(move, parts.value);
  const Domain whole = move.stage_ref().domain;
  const std::vector<bool> axes = moving_axes(pool, parts.value, whole);
  move.require(std::ranges::find(axes, true) != axes.end(), "the factors are the same everywhere");
  Domain rest = whole, inside = whole;
  inside.inequalities.clear();
  inside.equalities.clear();
  if (rows_follow_from_reads(graph, move.stage_ref()))
    move_rows(axes, rest, inside);
  else
    move.require(!reads_by_data(program.graph, move.stage_ref()),
                 "a condition excludes points whose indices, which are data, would be read");
  if (rest.is_box()) rest.divisions.clear();
  if (!inside.is_box())
    move.require(have_values(graph, tensors_of(pool, parts.rest)),
                 "the rows of its domain would become zeros, and another factor is infinite where "
                 "its own rows exclude points");
  Stage made = stage_over(graph, with_bounds(graph, parts.value, whole, inside), inside, axes);
  made.lines = move.stage_ref().lines;
  made.region = move.stage_ref().region;
  const DType dtype = pool.dtype(made.bodies.front());
  made.results = {add_tensor(graph, stage_name(graph, move.stage_ref()) + "_factor", dtype,
                             made.domain.extents)};
  std::vector<ExprId> index;
  for (size_t a = 0; a < axes.size(); ++a)
    if (axes[a]) index.push_back(pool.axis(a));
  Stage& sum = graph.stages[stage];
  const DType summed = pool.dtype(sum.bodies.front());
  ExprId read = pool.read(made.results.front(), dtype, index);
  if (parts.cast) read = pool.cast(read, summed);
  parts.rest.factors.insert(
      parts.rest.factors.begin() + static_cast<std::ptrdiff_t>(factors.front()), {read});
  sum.bodies = {with_bounds(graph, product_of(pool, parts.rest, summed), whole, rest)};
  sum.domain = std::move(rest);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(made));
  const Move moved{move.name, program, stage + 1};
  moved.record({{"factors", factors}});
  return program;
}

}  // namespace adjit::sched
