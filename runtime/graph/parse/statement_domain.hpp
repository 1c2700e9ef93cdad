// runtime/graph/parse/statement_domain.hpp -- which indices a pointwise statement has, and over
// which domain they run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/parse/expression_builder.hpp"
#include "runtime/graph/parse/ranges.hpp"

namespace adjit::graph {

/// The indices of a statement: those on the left first (none of a scatter), then the others.
struct StatementDomain {
  bool scatter = false;
  std::vector<NameSyntax> indices;
  size_t left_count = 0;
  Domain domain;
  /// Conditions on the domain that are no rows of it, since their numbers may leave int64
  /// (affine_constraint.hpp): the bodies ask them, in arithmetic that wraps.
  std::vector<SyntaxId> asked;
  /// Index k is axis k plus this (0 for indices on the left).
  std::vector<int64_t> shifts;
  /// Some rows, conditions or extents leave out elements of a result that existed before.
  bool partial = false;
};

/// `existing` is the shape that the result has already (null when it is new): indices on the left
/// run over all of it.
StatementDomain statement_domain(const SymbolTable& scope, const StatementSyntax& statement,
                                 const std::vector<int64_t>* existing);

}  // namespace adjit::graph
