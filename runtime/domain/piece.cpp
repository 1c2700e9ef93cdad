// runtime/domain/piece.cpp -- from solved system to domain: number, tighten, prune.
#include "runtime/domain/piece.hpp"

#include <algorithm>

#include "runtime/domain/bounds.hpp"
#include "runtime/domain/divisions.hpp"

namespace adjit::domain {

namespace {

std::vector<size_t> ordered_columns(const FibreSystem& system) {
  std::vector<size_t> columns = system.free_columns();
  std::stable_sort(columns.begin(), columns.end(),
                   [&](size_t a, size_t b) { return system.home[a] < system.home[b]; });
  return columns;
}

/// The piece as it stands: loose extents, all rows, all divisions.
FibrePiece number(const FibreSystem& system) {
  const std::vector<size_t> columns = ordered_columns(system);
  const size_t outputs = system.parameters.rank();
  FibrePiece piece;
  piece.domain.extents = system.parameters.extents;
  piece.domain.output_rank = outputs;

  // replacements[variable of the system] = form over the piece's variables
  std::vector<Affine> replacements(system.columns + system.parameters.variable_count());
  for (size_t k = 0; k < columns.size(); ++k) {
    const Interval& range = system.ranges[columns[k]];
    piece.domain.extents.push_back(range.size());
    replacements[columns[k]] = Affine::variable(outputs + k, 1, range.lo);
  }
  for (size_t k = 0; k < outputs; ++k) replacements[system.columns + k] = Affine::variable(k);
  size_t variable = piece.domain.rank();
  const std::span derived = std::span(replacements).subspan(system.columns);
  for (size_t q = 0; q < system.parameters.divisions.size(); ++q) {
    const Division& division = system.parameters.divisions[q];
    piece.domain.divisions.push_back({substitute(division.numerator, derived), division.divisor});
    derived[outputs + q] = Affine::variable(variable++);
  }
  for (const Quotient& quotient : system.quotients) {
    piece.domain.divisions.push_back(
        {substitute(quotient.numerator, replacements), quotient.divisor});
    replacements[quotient.column] = Affine::variable(variable++);
  }
  for (const Affine& row : system.inequalities)
    piece.domain.inequalities.push_back(substitute(row, replacements));
  for (const Affine& row : system.guards)
    piece.domain.equalities.push_back(substitute(row, replacements));
  for (const Affine& axis : system.axes) piece.original.push_back(substitute(axis, replacements));
  return piece;
}

/// Shrinks the reduction axes to the values that occur; false when there is none.
bool shrink_axes(FibrePiece& piece) {
  for (size_t k = piece.domain.output_rank; k < piece.domain.rank(); ++k) {
    const std::optional<Interval> range = interval(piece.domain, Affine::variable(k));
    if (!range) throw Overflow();
    if (range->empty()) return false;
    std::vector<Affine> replacements;
    for (size_t v = 0; v <= k; ++v) replacements.push_back(Affine::variable(v));
    replacements[k].set_constant(range->lo);
    if (range->lo != 0) rewrite(piece, replacements);
    piece.domain.extents[k] = range->size();
  }
  return true;
}

/// Drops reduction axes of extent 1: always 0.
void drop_single_axes(FibrePiece& piece) {
  Domain& domain = piece.domain;
  std::vector<Affine> replacements(domain.variable_count());
  std::vector<int64_t> extents;
  for (size_t k = 0; k < domain.rank(); ++k) {
    if (k >= domain.output_rank && domain.extents[k] == 1) continue;
    replacements[k] = Affine::variable(extents.size());
    extents.push_back(domain.extents[k]);
  }
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    replacements[domain.rank() + q] = Affine::variable(extents.size() + q);
  rewrite(piece, replacements);
  domain.extents = std::move(extents);
}

}  // namespace

std::optional<FibrePiece> make_piece(const FibreSystem& system) {
  for (size_t column : system.free_columns())
    if (system.ranges[column].empty()) return std::nullopt;
  FibrePiece piece = number(system);
  simplify_divisions(piece);
  if (!shrink_axes(piece) || provably_empty(piece.domain)) return std::nullopt;
  drop_single_axes(piece);
  piece.domain = tighten(std::move(piece.domain));
  order_divisions(piece);
  return piece;
}

}  // namespace adjit::domain
