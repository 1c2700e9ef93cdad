// runtime/diff/simplify/one_hot.cpp -- a reduction axis that data fixes leaves its sum.
#include "runtime/diff/simplify/one_hot.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/reads_in_box.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/domain/inequalities.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

bool uses_axis(const ExprPool& pool, ExprId expr, size_t axis) {
  if (!expr.valid()) return false;
  return std::ranges::any_of(reachable(pool, std::span(&expr, 1)), [&](ExprId id) {
    return pool.is(id, Op::Axis) && pool.axis_number(id) == axis;
  });
}

// The form without new divisions; nullopt when there is none.
std::optional<Affine> plain_form(const ExprPool& pool, ExprId expr, const Domain& domain) {
  const std::optional<IndexForm> found = index_form(pool, expr, domain);
  if (!found || found->domain.divisions.size() != domain.divisions.size()) return std::nullopt;
  return found->form;
}

// The longest reduction axis that stands in the form with 1 or -1 and in none of its divisions.
std::optional<size_t> solvable_axis(const Affine& form, const Domain& domain) {
  for (size_t q = domain.rank(); q < form.size(); ++q)
    if (form.coefficient(q) != 0) return std::nullopt;
  std::optional<size_t> best;
  for (size_t k = domain.output_rank; k < domain.rank(); ++k) {
    const int64_t c = form.coefficient(k);
    if ((c == 1 || c == -1) && (!best || domain.extents[k] > domain.extents[*best])) best = k;
  }
  return best;
}

// Which variables of the domain depend on the axis: itself, and divisions.
std::vector<char> dependents(const Domain& domain, size_t axis) {
  std::vector<char> depends(domain.variable_count(), 0);
  depends[axis] = 1;
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    const Affine& numerator = domain.divisions[q].numerator;
    for (size_t k = 0; k < numerator.size(); ++k)
      if (numerator.coefficient(k) != 0 && depends[k]) depends[domain.rank() + q] = 1;
  }
  return depends;
}

// Whether a read of the expressions may be out of range at a point of the box.
bool may_leave(const Graph& graph, std::span<const ExprId> exprs, const Domain& box) {
  Intervals ranges(graph.pool, box.extents);
  return std::ranges::any_of(reachable(graph.pool, exprs), [&](ExprId id) {
    if (!graph.pool.is(id, Op::Read)) return false;
    const std::vector<int64_t>& shape = graph.info(graph.pool.read_tensor(id)).shape;
    const std::span<const ExprId> index = graph.pool.read_index(id);
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::optional<ValueRange> range = ranges.of(index[d]);
      if (!range || range->lo < 0 || range->hi >= shape[d]) return true;
    }
    return false;
  });
}

// Adds to `domain`, which has none of the rows that know the axis, what these say of the other axes
// in `before`: at its points there is a value of the axis that fulfils them. False where they could
// not be told so exactly.
bool project(Domain& domain, const Domain& before, size_t axis) {
  const std::vector<char> depends = dependents(before, axis);
  std::vector<size_t> columns;
  for (size_t k = 0; k < depends.size(); ++k)
    if (depends[k]) columns.push_back(k);
  try {
    domain::Rows rows = domain::domain_rows(before);
    const domain::Elimination how = domain::eliminate_all(rows, columns);
    if (how != domain::Elimination::Exact && how != domain::Elimination::Inexact) return false;
    domain::Rows known = domain::domain_rows(domain);
    for (const domain::Row& row : rows) {
      if (domain::implied(known, row)) continue;
      known.push_back(row);
      add_constraint(domain, {domain::to_affine(row), false});
    }
    return how == domain::Elimination::Exact;
  } catch (const Overflow&) {
    return false;
  }
}

// Takes the rows that know the axis out of the domain; their conjunction, the axis still in it.
ExprId rows_of(ExprPool& pool, Domain& domain, size_t axis) {
  const std::vector<char> depends = dependents(domain, axis);
  const auto knows = [&](const Affine& row) {
    for (size_t k = 0; k < row.size(); ++k)
      if (row.coefficient(k) != 0 && depends[k]) return true;
    return false;
  };
  ExprId condition;
  for (const Affine& row : domain.equalities)
    if (knows(row)) condition = both(pool, condition, to_condition(pool, row, true, domain));
  for (const Affine& row : domain.inequalities)
    if (knows(row)) condition = both(pool, condition, to_condition(pool, row, false, domain));
  std::erase_if(domain.equalities, knows);
  std::erase_if(domain.inequalities, knows);
  return condition;
}

}  // namespace

std::optional<FixedAxis> fixed_axis(ExprPool& pool, ExprId literal, ExprId reached,
                                    const Domain& domain) {
  const bool negated = pool.is(literal, Op::Not);
  if (negated) literal = pool.operand(literal, 0);
  if (!pool.is(literal, negated ? Op::Ne : Op::Eq)) return std::nullopt;
  if (pool.dtype(pool.operand(literal, 0)) != DType::Int64) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ExprId known = pool.operand(literal, side), data = pool.operand(literal, 1 - side);
    const std::optional<Affine> form = plain_form(pool, known, domain);
    const std::optional<size_t> axis = form ? solvable_axis(*form, domain) : std::nullopt;
    if (!axis || uses_axis(pool, data, *axis) || uses_axis(pool, reached, *axis)) continue;
    // c * axis + others == data
    const int64_t c = form->coefficient(*axis);
    const ExprId others = to_expr(pool, *form - Affine::variable(*axis) * c, domain);
    const ExprId value = c == 1 ? pool.sub(data, others) : pool.sub(others, data);
    return FixedAxis{*axis, value, reached};
  }
  return std::nullopt;
}

void fix_axis(Graph& graph, Stage& stage, FixedAxis fixed) {
  ExprPool& pool = graph.pool;
  const Domain before = stage.domain;
  ExprId rows = rows_of(pool, stage.domain, fixed.axis);
  // What is read to know the value may be there only where the axis had one.
  std::vector<ExprId> asked{fixed.value};
  if (fixed.reached.valid()) asked.push_back(fixed.reached);
  if (may_leave(graph, asked, before) && !project(stage.domain, before, fixed.axis)) {
    fixed.value = with_reads_in_box(graph, fixed.value, before);
    fixed.reached = with_reads_in_box(graph, fixed.reached, before);
  }
  const ExprId zero = pool.constant_int(0);
  const ExprId extent = pool.constant_int(before.extents[fixed.axis]);
  ExprId inside = pool.logical_and(pool.make(Op::Le, {zero, fixed.value}),
                                   pool.make(Op::Lt, {fixed.value, extent}));
  std::vector<ExprId> now = axes(pool, stage.domain.rank());
  now[fixed.axis] = fixed.value;
  if (rows.valid()) inside = pool.logical_and(inside, substitute_axes(pool, rows, now));
  const ExprId body = substitute_axes(pool, stage.bodies[0], now);
  stage.bodies = {guard(pool, fixed.reached, guard(pool, inside, body))};
  stage.domain.equalities.push_back(Affine::variable(fixed.axis));
}

}  // namespace adjit::diff
