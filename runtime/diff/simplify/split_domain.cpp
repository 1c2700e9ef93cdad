// runtime/diff/simplify/split_domain.cpp -- the domains of a sum inside a sum.
#include "runtime/diff/simplify/split_domain.hpp"

#include "runtime/domain/bounds.hpp"
#include "runtime/domain/inequalities.hpp"

namespace adjit::diff {
namespace {

// The axes that each variable depends on: an axis on itself, a division on those of its numerator.
std::vector<AxisSet> axes_of_variables(const Domain& domain) {
  std::vector<AxisSet> axes;
  for (size_t k = 0; k < domain.rank(); ++k) axes.push_back(bit(k));
  for (const Division& d : domain.divisions) {
    AxisSet all = 0;
    for (size_t k = 0; k < d.numerator.size(); ++k)
      if (d.numerator.coefficient(k) != 0) all |= axes[k];
    axes.push_back(all);
  }
  return axes;
}

AxisSet axes_of(const Affine& form, const std::vector<AxisSet>& variables) {
  AxisSet all = 0;
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0) all |= variables[k];
  return all;
}

// What the rows say about the variables that depend on the axes of `kept` only; nullopt when other
// points than those of the domain would fulfil it.
std::optional<Rows> projection(const Domain& domain, AxisSet kept) {
  const std::vector<AxisSet> variables = axes_of_variables(domain);
  std::vector<size_t> columns;
  for (size_t v = 0; v < variables.size(); ++v)
    if (variables[v] & ~kept) columns.push_back(v);
  try {
    Rows rows = domain_rows(domain);
    if (!domain::simplify(rows)) return std::nullopt;
    if (eliminate_all(rows, columns) != Elimination::Exact) return std::nullopt;
    return rows;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace

AxisSet row_neighbours(const Domain& domain, AxisSet axes) {
  const std::vector<AxisSet> variables = axes_of_variables(domain);
  AxisSet all = axes;
  for (const auto* rows : {&domain.inequalities, &domain.equalities})
    for (const Affine& row : *rows)
      if (const AxisSet known = axes_of(row, variables); known & axes) all |= known;
  return all;
}

Domain select_axes(const Domain& domain, std::span<const size_t> axes, size_t output_rank) {
  Domain result;
  result.output_rank = output_rank;
  // What each variable is called in the result; nothing where it knows another axis.
  std::vector<std::optional<Affine>> now(domain.variable_count());
  for (size_t axis : axes) {
    now[axis] = Affine::variable(result.rank());
    result.extents.push_back(domain.extents[axis]);
  }
  const auto renamed = [&](const Affine& form) -> std::optional<Affine> {
    Affine total(form.constant());
    for (size_t v = 0; v < form.size(); ++v) {
      if (form.coefficient(v) == 0) continue;
      if (!now[v]) return std::nullopt;
      total += *now[v] * form.coefficient(v);
    }
    return total;
  };
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    if (const auto numerator = renamed(domain.divisions[q].numerator))
      now[domain.rank() + q] =
          Affine::variable(result.add_division(*numerator, domain.divisions[q].divisor));
  for (const Affine& row : domain.inequalities)
    if (auto kept = renamed(row)) result.inequalities.push_back(std::move(*kept));
  for (const Affine& row : domain.equalities)
    if (auto kept = renamed(row)) result.equalities.push_back(std::move(*kept));
  return result;
}

std::optional<Domain> projected_domain(const Domain& domain, std::span<const size_t> axes,
                                       size_t output_rank) {
  Domain result = select_axes(domain, axes, output_rank);
  if (domain.is_box()) return result;
  AxisSet kept = 0;
  for (size_t axis : axes) kept |= bit(axis);
  const std::optional<Rows> rows = projection(domain, kept);
  if (!rows) return std::nullopt;
  // The rows in the result's variables: the domain with them in its rows' place.
  Domain said = domain;
  said.equalities.clear();
  said.inequalities.clear();
  for (const Row& row : *rows) said.inequalities.push_back(to_affine(row));
  for (Affine& row : select_axes(said, axes, output_rank).inequalities)
    if (!implies(result, row)) result.inequalities.push_back(std::move(row));
  return result;
}

std::optional<SplitDomain> split_domain(const Domain& domain, AxisSet kept, AxisSet reduced) {
  std::vector<size_t> inside, outside;
  for (const AxisSet set : {kept, reduced})
    for (size_t k = 0; k < domain.rank(); ++k)
      if (set & bit(k)) inside.push_back(k);
  for (size_t k = 0; k < domain.rank(); ++k)
    if (!(reduced & bit(k))) outside.push_back(k);
  size_t kept_count = 0;
  for (size_t k = 0; k < domain.rank(); ++k) kept_count += (kept & bit(k)) != 0;
  std::optional<Domain> inner = projected_domain(domain, inside, kept_count);
  std::optional<Domain> outer = projected_domain(domain, outside, domain.output_rank);
  if (!inner || !outer) return std::nullopt;
  return SplitDomain{std::move(*inner), std::move(*outer)};
}

}  // namespace adjit::diff
