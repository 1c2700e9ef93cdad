// runtime/graph/affine_constraint.cpp -- comparisons of indices as rows of a domain.
#include "runtime/graph/affine_constraint.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/near_constraint.hpp"

namespace adjit::graph {
namespace {

struct Comparison {
  Op op = Op::Le;
  ExprId a, b;
};

// a < b, a <= b or a == b, without the negation; nullopt where it is no one of them.
std::optional<Comparison> positive(const ExprPool& pool, ExprId literal) {
  const bool negated = pool.is(literal, Op::Not);
  const ExprId id = negated ? pool.operand(literal, 0) : literal;
  const Op op = pool[id].op;
  if (op != Op::Lt && op != Op::Le && op != Op::Eq && op != Op::Ne) return std::nullopt;
  const ExprId a = pool.operand(id, 0), b = pool.operand(id, 1);
  if (pool.dtype(a) != DType::Int64) return std::nullopt;
  if (op == Op::Eq || op == Op::Ne)
    return (op == Op::Eq) != negated ? std::optional(Comparison{Op::Eq, a, b}) : std::nullopt;
  if (!negated) return Comparison{op, a, b};
  return Comparison{op == Op::Lt ? Op::Le : Op::Lt, b, a};
}

}  // namespace

std::optional<AffineConstraint> affine_constraint(Op comparison, const Affine& a, const Affine& b,
                                                  const Domain& domain) {
  invariant(comparison == Op::Lt || comparison == Op::Le || comparison == Op::Eq,
            "a row is made of <, <= or ==");
  try {
    AffineConstraint row{b - a, comparison == Op::Eq};
    if (comparison == Op::Lt) row.form += -1;
    for (const Affine& form : {a, b, row.form}) (void)domain.box_range(form);
    return row;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

std::optional<AffineConstraint> affine_constraint(const ExprPool& pool, ExprId literal,
                                                  Domain& domain) {
  const std::optional<Comparison> comparison = positive(pool, literal);
  if (!comparison) return std::nullopt;
  const size_t before = domain.divisions.size();
  const std::optional<Affine> a = as_affine(pool, comparison->a, domain);
  const std::optional<Affine> b = a ? as_affine(pool, comparison->b, domain) : std::nullopt;
  std::optional<AffineConstraint> row;
  if (b) row = affine_constraint(comparison->op, *a, *b, domain);
  if (!row) domain.divisions.resize(before);
  return row;
}

ExprId to_condition(ExprPool& pool, const Affine& form, bool equality, const Domain& domain) {
  std::optional<Affine> asked = form;
  try {
    (void)domain.box_range(form);
  } catch (const Overflow&) {
    asked = near_constraint(form, equality, domain, 0);
    if (!asked) return pool.constant_int(1, DType::Bool);
    (void)domain.box_range(*asked);
  }
  const ExprId value = to_expr(pool, *asked, domain), zero = pool.constant_int(0);
  return equality ? pool.make(Op::Eq, {value, zero}) : pool.make(Op::Le, {zero, value});
}

ExprId rows_condition(ExprPool& pool, const Domain& domain) {
  ExprId condition;
  const auto add = [&](const Affine& row, bool equality) {
    const ExprId literal = to_condition(pool, row, equality, domain);
    condition = condition.valid() ? pool.logical_and(condition, literal) : literal;
  };
  for (const Affine& row : domain.equalities) add(row, true);
  for (const Affine& row : domain.inequalities) add(row, false);
  return condition;
}

void add_constraint(Domain& domain, AffineConstraint constraint) {
  const Affine& row = constraint.form;
  std::vector<Affine>& rows = constraint.equality ? domain.equalities : domain.inequalities;
  if (std::ranges::find(rows, row) != rows.end()) return;
  const bool always =
      row.is_constant() && (constraint.equality ? row.constant() == 0 : row.constant() >= 0);
  if (!always) rows.push_back(std::move(constraint.form));
}

}  // namespace adjit::graph
