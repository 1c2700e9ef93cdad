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

// A form over `from` as one over `to`, which has the axes that it uses and takes its divisions.
Affine form_over(const Affine& form, const Domain& from, Domain& to) {
  Affine there(form.constant());
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0) continue;
    size_t variable = k;
    if (k >= from.rank()) {
      const Division& division = from.divisions[k - from.rank()];
      variable = to.add_division(form_over(division.numerator, from, to), division.divisor);
    }
    there += Affine::variable(variable, form.coefficient(k));
  }
  return there;
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

bool add_rows(Domain& domain, const Domain& from) {
  bool empty = false;
  const auto add = [&](const Affine& row, bool equality) {
    std::vector<bool> used(from.rank(), false);
    from.mark_axes(row, used);
    const auto others = used.begin() + static_cast<std::ptrdiff_t>(domain.rank());
    if (std::find(others, used.end(), true) == used.end())
      add_row(domain, {form_over(row, from, domain), equality}, empty);
  };
  for (const Affine& row : from.equalities) add(row, true);
  for (const Affine& row : from.inequalities) add(row, false);
  return !empty;
}

ExprId condition_of(ExprPool& pool, const RestrictedDomain& restricted) {
  if (restricted.empty) return pool.constant_int(0, DType::Bool);
  ExprId condition = rows_condition(pool, restricted.domain);
  for (ExprId literal : conjuncts(pool, restricted.rest))
    condition = both(pool, condition, literal);
  return condition;
}

}  // namespace adjit::diff
