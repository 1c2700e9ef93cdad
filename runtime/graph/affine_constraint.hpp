// runtime/graph/affine_constraint.hpp -- comparisons of indices as rows of a domain.
//
// Rows are exact, whatever their size; code wraps at 64 bits. A comparison is a row only where
// neither can be seen: where both sides, and the row itself, stay within int64 at every point of
// the domain's box. With 0 <= i < 8, i + 1 < 5 is the row 3 - i >= 0; i * 2^62 < 5 is none, since
// its left side is 0 at i = 4.
#pragma once

#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// A row of a domain: form >= 0, or form == 0.
struct AffineConstraint {
  Affine form;
  bool equality = false;
};

/// a < b, a <= b or a == b (`comparison` is Lt, Le or Eq) of forms over the domain's variables.
/// nullopt where a side or the row may leave int64.
std::optional<AffineConstraint> affine_constraint(Op comparison, const Affine& a, const Affine& b,
                                                  const Domain& domain);

/// What a comparison of Int64 expressions over the domain's axes says, or its negation (Not), as
/// one row; adds the divisions that it needs to the domain. nullopt, domain unchanged, where that
/// is none: a != b, sides that are not quasi-affine, or that may leave int64.
std::optional<AffineConstraint> affine_constraint(const ExprPool& pool, ExprId literal,
                                                  Domain& domain);

/// The row form >= 0, or form == 0, as a condition that code asks, which wraps at 64 bits: where
/// the form may leave these in the domain's box, it is another one that holds at the same points of
/// it (near_constraint.hpp). Raises Overflow where none is found.
ExprId to_condition(ExprPool& pool, const Affine& form, bool equality, const Domain& domain);

/// All rows of a domain as one such condition; invalid when it has none.
ExprId rows_condition(ExprPool& pool, const Domain& domain);

/// Adds the row, unless the domain has it or it holds always.
void add_constraint(Domain& domain, AffineConstraint constraint);

}  // namespace adjit::graph
