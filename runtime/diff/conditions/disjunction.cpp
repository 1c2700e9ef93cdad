// runtime/diff/conditions/disjunction.cpp -- alternatives, and what each adds to the earlier ones.
#include "runtime/diff/conditions/disjunction.hpp"

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit::diff {
namespace {

constexpr size_t kMostDomains = 8;

using Conjunction = std::vector<ExprId>;

// The condition as alternatives, each a conjunction of literals; empty when there are too many.
std::vector<Conjunction> alternatives_of(ExprPool& pool, ExprId condition) {
  struct Open {
    Conjunction done, left;
  };
  std::vector<Open> open{{{}, {condition}}};
  std::vector<Conjunction> found;
  while (!open.empty()) {
    if (open.size() + found.size() > kMostDomains) return {};
    Open now = std::move(open.back());
    open.pop_back();
    if (now.left.empty()) {
      found.push_back(std::move(now.done));
      continue;
    }
    const ExprId id = now.left.back();
    now.left.pop_back();
    const bool negated = pool.is(id, Op::Not);
    const ExprId inner = negated ? pool.operand(id, 0) : id;
    const bool both_needed = pool.is(inner, negated ? Op::Or : Op::And);
    const bool either_needed = pool.is(inner, negated ? Op::And : Op::Or);
    if (!both_needed && !either_needed) {
      now.done.push_back(id);
      open.push_back(std::move(now));
      continue;
    }
    const auto part = [&](size_t k) {
      const ExprId operand = pool.operand(inner, k);
      return negated ? negation(pool, operand) : operand;
    };
    Open other = now;
    (both_needed ? now : other).left.push_back(part(1));
    now.left.push_back(part(0));
    if (either_needed) open.push_back(std::move(other));
    open.push_back(std::move(now));
  }
  return found;
}

// `domain` without the points of `taken`: disjoint parts, one per row of `taken`, in which the rows
// before it hold and it does not. Both have the same divisions.
void append_difference(const Domain& domain, const Domain& taken, std::vector<Domain>& parts) {
  Domain held = domain;
  const auto cut = [&](const Affine& row) {  // where row >= 0, of what is held so far
    Domain part = held;
    part.inequalities.push_back(row);
    if (!provably_empty(part)) parts.push_back(tighten(std::move(part)));
  };
  for (const Affine& row : taken.inequalities) {
    cut(-row - Affine(1));
    held.inequalities.push_back(row);
  }
  for (const Affine& row : taken.equalities) {
    cut(row - Affine(1));
    cut(-row - Affine(1));
    held.equalities.push_back(row);
  }
}

}  // namespace

std::optional<std::vector<Domain>> disjoint_domains(ExprPool& pool, ExprId condition,
                                                    const Domain& domain) {
  const std::vector<Conjunction> alternatives = alternatives_of(pool, condition);
  if (alternatives.empty()) return std::nullopt;
  Domain base = domain;  // gathers the divisions of all alternatives
  std::vector<Domain> sets;
  for (const Conjunction& literals : alternatives) {
    Domain set = domain;
    set.divisions = base.divisions;
    ExprId all;
    for (ExprId literal : literals) all = both(pool, all, literal);
    const Restriction r = restrict_by(pool, all, set);
    if (r.rest.valid()) return std::nullopt;
    base.divisions = set.divisions;
    if (!r.empty && !provably_empty(set)) sets.push_back(std::move(set));
  }
  std::vector<Domain> disjoint;
  for (size_t k = 0; k < sets.size(); ++k) {
    sets[k].divisions = base.divisions;
    std::vector<Domain> parts{sets[k]};
    for (size_t earlier = 0; earlier < k; ++earlier) {
      std::vector<Domain> left;
      for (const Domain& part : parts) append_difference(part, sets[earlier], left);
      parts = std::move(left);
      if (parts.size() + disjoint.size() > kMostDomains) return std::nullopt;
    }
    disjoint.insert(disjoint.end(), parts.begin(), parts.end());
  }
  return disjoint;
}

}  // namespace adjit::diff
