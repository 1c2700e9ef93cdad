// runtime/diff/conditions/guards.cpp -- affine conjuncts to rows, and rows to conditions.
#include "runtime/diff/conditions/guards.hpp"

#include <algorithm>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/affine_constraint.hpp"

namespace adjit::diff {
namespace {

// Conjuncts, with !(a || b) taken apart.
std::vector<ExprId> flat_conjuncts(ExprPool& pool, ExprId condition) {
  std::vector<ExprId> found, stack = conjuncts(pool, condition);
  std::ranges::reverse(stack);
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    const bool negated_or = pool.is(id, Op::Not) && pool.is(pool.operand(id, 0), Op::Or);
    if (!negated_or && !pool.is(id, Op::And)) {
      found.push_back(id);
      continue;
    }
    const ExprId inner = negated_or ? pool.operand(id, 0) : id;
    for (size_t k = 2; k-- > 0;) {
      const ExprId part = pool.operand(inner, k);
      stack.push_back(negated_or ? negation(pool, part) : part);
    }
  }
  return found;
}

void add_row(Domain& domain, const AffineConstraint& row, bool& empty) {
  if (row.form.is_constant()) {
    const int64_t c = row.form.constant();
    if (row.equality ? c != 0 : c < 0) empty = true;
    return;
  }
  auto& rows = row.equality ? domain.equalities : domain.inequalities;
  if (std::ranges::find(rows, row.form) != rows.end()) return;
  if (!row.equality && implies(domain, row.form)) return;
  rows.push_back(row.form);
}

// Of parallel inequalities the tightest says all.
void keep_tightest(Domain& domain) {
  std::vector<Affine>& rows = domain.inequalities;
  for (size_t k = 0; k < rows.size(); ++k) {
    const Affine row = rows[k];
    std::erase_if(rows, [&](const Affine& other) {
      return std::ranges::equal(other.coefficients(), row.coefficients()) &&
             other.constant() > row.constant();
    });
    k = static_cast<size_t>(std::ranges::find(rows, row) - rows.begin());
  }
}

}  // namespace

Restriction restrict_by(ExprPool& pool, ExprId condition, Domain& domain) {
  Restriction result;
  for (ExprId literal : flat_conjuncts(pool, condition)) {
    if (pool.is_false(literal)) {
      result.empty = true;
      continue;
    }
    Domain extended = domain;
    if (const auto row = affine_constraint(pool, literal, extended)) {
      add_row(extended, *row, result.empty);
      domain = std::move(extended);
    } else {
      result.rest = both(pool, result.rest, literal);
    }
  }
  return result;
}

const RestrictedDomain& Restrictions::operator()(ExprId condition) {
  if (!condition.valid()) return whole_;
  // Down to a beginning that is known, and up again.
  std::vector<ExprId> open{condition};
  while (!known_.contains(open.back().value) && pool_.is(open.back(), Op::And))
    open.push_back(pool_.operand(open.back(), 0));
  const RestrictedDomain* found = nullptr;
  for (size_t k = open.size(); k-- > 0;) {
    const auto [at, fresh] = known_.try_emplace(open[k].value);
    RestrictedDomain& made = at->second;
    if (fresh) {
      made = found ? *found : whole_;
      const ExprId literals = found ? pool_.operand(open[k], 1) : open[k];
      const Restriction r = restrict_by(pool_, literals, made.domain);
      keep_tightest(made.domain);
      made.rest = both(pool_, made.rest, r.rest);
      made.empty = made.empty || r.empty;
      ++restricted_;
    }
    found = &made;
  }
  return *found;
}

ExprId rows_condition(ExprPool& pool, const Domain& domain, size_t axis_limit) {
  // Which variables use only axes below the limit.
  std::vector<char> allowed(domain.variable_count(), 0);
  const auto uses_allowed = [&](const Affine& form) {
    for (size_t k = 0; k < form.size(); ++k)
      if (form.coefficient(k) != 0 && !allowed[k]) return false;
    return true;
  };
  for (size_t k = 0; k < std::min(axis_limit, domain.rank()); ++k) allowed[k] = 1;
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    allowed[domain.rank() + q] = uses_allowed(domain.divisions[q].numerator);
  ExprId condition;
  for (const Affine& row : domain.equalities)
    if (uses_allowed(row)) condition = both(pool, condition, to_condition(pool, row, true, domain));
  for (const Affine& row : domain.inequalities)
    if (uses_allowed(row))
      condition = both(pool, condition, to_condition(pool, row, false, domain));
  return condition;
}

}  // namespace adjit::diff
