// runtime/diff/conditions/guards.hpp -- conditions that are affine become rows of a domain.
#pragma once

#include <unordered_map>
#include <utility>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Moves every conjunct of `condition` that is affine over the domain into it as a row (comparisons
/// of int64, negated ones too; !(a || b) is a conjunction). Returns the conjunction of the others,
/// invalid when none is left. `empty` becomes true when a conjunct is constant false. Rows that the
/// box implies are dropped.
struct Restriction {
  ExprId rest;
  bool empty = false;
};
Restriction restrict_by(ExprPool& pool, ExprId condition, Domain& domain);

/// A domain with what a condition says as rows, and what is left of the condition.
struct RestrictedDomain {
  Domain domain;
  ExprId rest;
  bool empty = false;
  /// Whether the condition leaves no point of the box out.
  bool everywhere() const { return domain.is_box() && !rest.valid() && !empty; }
};

/// The same as a condition again: its rows and the rest; invalid where it is everywhere.
ExprId condition_of(ExprPool& pool, const RestrictedDomain& restricted);

/// Adds the rows of `from` that use no axes but those of `domain`, which are the first of `from`,
/// and the divisions that these rows need. Rows that the domain implies are dropped. False when a
/// row never holds.
bool add_rows(Domain& domain, const Domain& from);

/// One domain under many conditions. Conjunctions that begin alike, as those of a chain of selects
/// do, share the rows of their beginning: n of them take n steps, not n * n.
class Restrictions {
 public:
  Restrictions(ExprPool& pool, Domain domain) : pool_(pool), whole_{std::move(domain), {}} {}

  /// As restrict_by. The reference holds until the object goes.
  const RestrictedDomain& operator()(ExprId condition);
  /// Literals (or conjunctions of the second operand of an And) that have been looked at so far.
  size_t restricted() const { return restricted_; }

 private:
  ExprPool& pool_;
  RestrictedDomain whole_;
  std::unordered_map<uint32_t, RestrictedDomain> known_;
  size_t restricted_ = 0;
};

}  // namespace adjit::diff
