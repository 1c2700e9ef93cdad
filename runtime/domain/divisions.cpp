// runtime/domain/divisions.cpp -- floors of sums: what can be taken out of them.
#include "runtime/domain/divisions.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/domain/bounds.hpp"
#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

namespace {

/// floor(form / divisor) as quotient + floor(rest / rest_divisor).
struct SimpleFloor {
  Affine quotient;
  Affine rest;
  int64_t divisor = 1;
};

/// The parts of `form` whose coefficients `factor` divides, and the others with the constant.
DividedForm split_multiples(const Affine& form, int64_t factor) {
  DividedForm parts{Affine(), Affine(form.constant())};
  for (size_t k = form.size(); k-- > 0;) {
    const int64_t c = form.coefficient(k);
    if (c % factor == 0) {
      parts.quotient.set_coefficient(k, c / factor);
    } else {
      parts.remainder.set_coefficient(k, c);
    }
  }
  return parts;
}

/// floor((factor * a + b) / d) == floor((a + k) / (d / factor)) where floor(b / factor) is always
/// k. Tries the largest common factor of the divisor and some coefficient first; false when none
/// fits.
bool drop_small_part(const Domain& domain, SimpleFloor& floor) {
  std::vector<int64_t> factors;
  for (int64_t c : floor.rest.coefficients())
    if (c != 0) factors.push_back(std::gcd(c, floor.divisor));
  std::ranges::sort(factors, std::greater<>());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  for (int64_t factor : factors) {
    if (factor == 1) break;
    const DividedForm parts = split_multiples(floor.rest, factor);
    const std::optional<Interval> small = interval(domain, parts.remainder);
    if (!small || small->empty()) continue;
    const int64_t k = floor_div(small->lo, factor);
    if (floor_div(small->hi, factor) != k) continue;
    floor.rest = parts.quotient + Affine(k);
    floor.divisor /= factor;
    return true;
  }
  return false;
}

/// `domain` holds the divisions before this one, simplified.
SimpleFloor simplest(const Domain& domain, const Affine& numerator, int64_t divisor) {
  SimpleFloor floor{Affine(), numerator, divisor};
  do {
    const DividedForm divided = divide(floor.rest, floor.divisor);
    floor.quotient += divided.quotient;
    floor.rest = divided.remainder;
  } while (floor.divisor > 1 && !floor.rest.is_constant() && drop_small_part(domain, floor));
  if (floor.rest.is_constant()) return floor;
  const std::optional<Interval> range = interval(domain, floor.rest);
  if (!range || range->empty()) return floor;
  const int64_t value = floor_div(range->lo, floor.divisor);
  if (floor_div(range->hi, floor.divisor) != value) return floor;
  floor.quotient += value;
  floor.rest = Affine();
  return floor;
}

std::vector<char> used_divisions(const FibrePiece& piece) {
  const Domain& domain = piece.domain;
  std::vector<char> used(domain.variable_count(), 0);
  const auto mark = [&](const Affine& form) {
    for (size_t k = 0; k < form.size(); ++k)
      if (form.coefficient(k) != 0) used[k] = 1;
  };
  for (const Affine& row : domain.inequalities) mark(row);
  for (const Affine& row : domain.equalities) mark(row);
  for (const Affine& axis : piece.original) mark(axis);
  for (size_t q = domain.divisions.size(); q-- > 0;)
    if (used[domain.rank() + q] != 0) mark(domain.divisions[q].numerator);
  return used;
}

/// The first axis that each variable depends on.
std::vector<size_t> first_axes(const Domain& domain) {
  std::vector<size_t> first(domain.variable_count(), domain.rank());
  std::iota(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(domain.rank()), size_t{0});
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    const Affine& numerator = domain.divisions[q].numerator;
    for (size_t k = 0; k < numerator.size(); ++k)
      if (numerator.coefficient(k) != 0)
        first[domain.rank() + q] = std::min(first[domain.rank() + q], first[k]);
  }
  return first;
}

}  // namespace

void rewrite(FibrePiece& piece, std::span<const Affine> replacements) {
  for (Division& division : piece.domain.divisions)
    division.numerator = substitute(division.numerator, replacements);
  for (Affine& row : piece.domain.inequalities) row = substitute(row, replacements);
  for (Affine& row : piece.domain.equalities) row = substitute(row, replacements);
  for (Affine& axis : piece.original) axis = substitute(axis, replacements);
}

void simplify_divisions(FibrePiece& piece) {
  const std::vector<Division> old = std::move(piece.domain.divisions);
  if (old.empty()) return;
  Domain simple;  // without rows: what it proves holds everywhere
  simple.extents = piece.domain.extents;
  simple.output_rank = piece.domain.output_rank;
  std::vector<Affine> replacements;
  for (size_t k = 0; k < simple.rank(); ++k) replacements.push_back(Affine::variable(k));
  for (const Division& division : old) {
    SimpleFloor floor =
        simplest(simple, substitute(division.numerator, replacements), division.divisor);
    if (floor.divisor == 1) {
      floor.quotient += floor.rest;
    } else if (!floor.rest.is_constant()) {
      floor.quotient += Affine::variable(simple.add_division(floor.rest, floor.divisor));
    }
    replacements.push_back(std::move(floor.quotient));
  }
  piece.domain.divisions.clear();
  rewrite(piece, replacements);
  piece.domain.divisions = std::move(simple.divisions);
}

void order_divisions(FibrePiece& piece) {
  Domain& domain = piece.domain;
  const std::vector<char> used = used_divisions(piece);
  const std::vector<size_t> first = first_axes(domain);
  std::vector<size_t> waiting, placed;
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    if (used[domain.rank() + q] != 0) waiting.push_back(domain.rank() + q);
  const auto is_waiting = [&](size_t variable) {
    return std::ranges::find(waiting, variable) != waiting.end();
  };
  while (!waiting.empty()) {
    std::optional<size_t> next;
    for (size_t variable : waiting) {
      const Affine& numerator = domain.divisions[variable - domain.rank()].numerator;
      bool ready = true;
      for (size_t k = domain.rank(); k < numerator.size(); ++k)
        if (numerator.coefficient(k) != 0 && is_waiting(k)) ready = false;
      if (ready && (!next || first[variable] < first[*next])) next = variable;
    }
    placed.push_back(*next);
    std::erase(waiting, *next);
  }
  std::vector<Affine> replacements(domain.variable_count());
  for (size_t k = 0; k < domain.rank(); ++k) replacements[k] = Affine::variable(k);
  std::vector<Division> divisions;
  for (size_t variable : placed) {
    replacements[variable] = Affine::variable(domain.rank() + divisions.size());
    divisions.push_back(domain.divisions[variable - domain.rank()]);
  }
  domain.divisions = std::move(divisions);
  rewrite(piece, replacements);
}

}  // namespace adjit::domain
