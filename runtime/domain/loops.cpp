// runtime/domain/loops.cpp -- bounds from the innermost loop outwards.
#include "runtime/domain/loops.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/domain/bounds.hpp"
#include "runtime/domain/inequalities.hpp"

namespace adjit::domain {

namespace {

/// Rows allowed in a proof that a bound or guard is redundant: one that takes more is not found,
/// which costs a comparison at run time and never an answer.
constexpr size_t kProofRows = 80;

bool follows(const Rows& known, const Row& row) { return implied(known, row, kProofRows); }

/// How deep in the nest each variable is known: 0 before the first loop, k inside the k-th.
struct Depths {
  std::vector<size_t> of;  // per variable: axes, then divisions

  Depths(const Domain& domain, std::span<const size_t> order) : of(domain.variable_count(), 0) {
    for (size_t k = 0; k < order.size(); ++k) of[order[k]] = k + 1;
    for (size_t q = 0; q < domain.divisions.size(); ++q)
      of[domain.rank() + q] = depth(domain.divisions[q].numerator);
  }
  size_t depth(const Affine& form) const {
    size_t deepest = 0;
    for (size_t k = 0; k < form.size(); ++k)
      if (form.coefficient(k) != 0) deepest = std::max(deepest, of[k]);
    return deepest;
  }
  size_t depth(const Row& row) const {
    size_t deepest = 0;
    for (size_t k = 0; k < of.size(); ++k)
      if (row[k] != 0) deepest = std::max(deepest, of[k]);
    return deepest;
  }
};

class NestBuilder {
 public:
  NestBuilder(const Domain& domain, std::span<const size_t> order)
      : domain_(domain), order_(order), depths_(domain, order), context_(context_rows(domain)) {
    // A division's window is a fact; the box of a loop's axis is not: its bounds enforce it.
    std::erase_if(context_, [&](const Row& row) {
      for (size_t k = domain.rank(); k < domain.variable_count(); ++k)
        if (row[k] != 0) return false;
      return depths_.depth(row) != 0;
    });
  }

  LoopNestBounds build() {
    nest_.loops.resize(order_.size());
    bounds_.resize(order_.size());
    Rows rows = domain_rows(domain_);
    originals_ = rows;
    if (!simplify(originals_) || !simplify(rows)) return empty_nest();
    for (size_t depth = order_.size(); depth > 0; --depth)
      if (!build_loop(rows, depth)) return empty_nest();
    add_outer_guards(rows);
    add_bounds();
    return std::move(nest_);
  }

 private:
  bool is_own_division(size_t variable, size_t depth) const {
    return variable >= domain_.rank() && depths_.of[variable] == depth;
  }
  /// Uses a division that is known only where the row itself is: no bound of a loop.
  bool uses_own_division(const Row& row) const {
    const size_t depth = depths_.depth(row);
    if (depth == 0) return false;
    for (size_t k = domain_.rank(); k < domain_.variable_count(); ++k)
      if (row[k] != 0 && is_own_division(k, depth)) return true;
    return false;
  }
  bool is_original(const Row& row) const {
    return std::binary_search(originals_.begin(), originals_.end(), row);
  }

  /// Takes the bounds of the loop at `depth` out of `rows`, which then hold what is known outside
  /// it. False when the rows contradict each other.
  bool build_loop(Rows& rows, size_t depth) {
    LoopBounds& loop = nest_.loops[depth - 1];
    loop.axis = order_[depth - 1];
    std::vector<size_t> divisions;
    for (size_t k = domain_.rank(); k < domain_.variable_count(); ++k)
      if (is_own_division(k, depth)) divisions.push_back(k);
    if (!eliminate_or_relax(rows, divisions, depth)) return false;
    drop_implied_bounds(rows, loop.axis, {});
    for (const Row& row : rows)
      if (row[loop.axis] != 0) bounds_[depth - 1].push_back(row);
    add_guards(loop, rows, depth);
    return eliminate_or_relax(rows, {&loop.axis, 1}, depth);
  }

  /// Over budget: falls back to the original rows that are known outside (and, for divisions, at)
  /// this depth.
  bool eliminate_or_relax(Rows& rows, std::span<const size_t> columns, size_t depth) {
    if (columns.empty()) return true;
    const bool axis = columns.front() < domain_.rank();
    Elimination result = Elimination::OverBudget;
    try {
      Rows attempt = rows;
      result = eliminate_all(attempt, {columns.begin(), columns.end()});
      if (result == Elimination::Exact || result == Elimination::Inexact) rows = std::move(attempt);
    } catch (const Overflow&) {
      result = Elimination::OverBudget;
    }
    if (result == Elimination::Contradiction) return false;
    if (result != Elimination::Exact) ++nest_.inexact;
    if (result == Elimination::OverBudget) {
      rows = originals_;
      std::erase_if(rows, [&](const Row& row) {
        const size_t at = depths_.depth(row);
        return at > depth || (at == depth && (axis || uses_own_division(row)));
      });
    }
    return true;
  }

  /// Rows that the loops and guards will enforce; derived rows over divisions that are known too
  /// late are merely true of the points.
  Rows enforced(const Rows& rows) const {
    Rows result = context_;
    for (const Row& row : rows)
      if (!uses_own_division(row) || is_original(row)) result.push_back(row);
    return result;
  }

  /// Drops the bounds of `axis` among `rows` that the other rows and `facts` imply; each side keeps
  /// one.
  void drop_implied_bounds(Rows& rows, size_t axis, const Rows& facts) const {
    for (size_t k = 0; k < rows.size();) {
      const int64_t c = rows[k][axis];
      const auto same_side = [&](const Row& row) {
        return row[axis] != 0 && (row[axis] > 0) == (c > 0);
      };
      if (c == 0 || std::ranges::count_if(rows, same_side) < 2) {
        ++k;
        continue;
      }
      Row row = std::move(rows[k]);
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(k));
      Rows known = enforced(rows);
      known.insert(known.end(), facts.begin(), facts.end());
      if (follows(known, row)) continue;
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(k), std::move(row));
      ++k;
    }
  }

  /// From the outermost loop inwards: what the outer loops enforce by now may imply more inner
  /// bounds.
  void add_bounds() {
    Rows outer;
    for (const Affine& form : nest_.outer_guards_ge) outer.push_back(row_of(form));
    for (size_t depth = 0; depth < order_.size(); ++depth) {
      Rows& bounds = bounds_[depth];
      if (depth > 0) drop_implied_bounds(bounds, order_[depth], outer);
      for (const Row& row : bounds) add_bound(nest_.loops[depth], row);
      outer.insert(outer.end(), bounds.begin(), bounds.end());
    }
  }

  static void add_bound(LoopBounds& loop, const Row& row) {
    Affine form = to_affine(row);
    const int64_t c = form.coefficient(loop.axis);
    if (c == 0) return;
    form.set_coefficient(loop.axis, 0);
    Bound bound = c > 0 ? Bound{-form, c} : Bound{form, -c};
    if (bound.form.is_constant()) {
      const int64_t value = bound.form.constant();
      bound = {Affine(c > 0 ? ceil_div(value, c) : floor_div(value, -c)), 1};
    }
    (c > 0 ? loop.lower : loop.upper).push_back(std::move(bound));
  }

  /// The domain's rows that become known in this loop but could not be bounds.
  void add_guards(LoopBounds& loop, const Rows& bounds, size_t depth) const {
    Rows known = enforced(bounds);
    const auto open = [&](const Affine& form) {
      return depths_.depth(form) == depth && uses_own_division(row_of(form)) &&
             !follows(known, row_of(form));
    };
    for (const Affine& form : domain_.equalities) {
      if (!open(form) && !open(-form)) continue;
      loop.guards_eq.push_back(form);
      known.push_back(row_of(form));
      known.push_back(row_of(-form));
    }
    for (const Affine& form : domain_.inequalities) {
      if (!open(form)) continue;
      loop.guards_ge.push_back(form);
      known.push_back(row_of(form));
    }
  }

  void add_outer_guards(const Rows& rows) {
    Rows known = context_;
    for (const Affine& form : domain_.equalities) {
      if (depths_.depth(form) != 0) continue;
      if (follows(known, row_of(form)) && follows(known, row_of(-form))) continue;
      nest_.outer_guards_eq.push_back(form);
      known.push_back(row_of(form));
      known.push_back(row_of(-form));
    }
    for (const Row& row : rows) {
      if (follows(known, row)) continue;
      nest_.outer_guards_ge.push_back(to_affine(row));
      known.push_back(row);
    }
  }

  LoopNestBounds empty_nest() const {
    LoopNestBounds nest;
    nest.outer_guards_ge.push_back(Affine(-1));
    for (size_t axis : order_)
      nest.loops.push_back(
          {axis, {{Affine(0), 1}}, {{Affine(domain_.extents[axis] - 1), 1}}, {}, {}});
    return nest;
  }

  Row row_of(const Affine& form) const { return to_row(form, domain_.variable_count()); }

  const Domain& domain_;
  std::span<const size_t> order_;
  Depths depths_;
  Rows context_;              // facts: division windows, boxes of axes outside the order
  Rows originals_;            // the domain's own rows, normalised and sorted
  std::vector<Rows> bounds_;  // per loop: the rows that bound its axis
  LoopNestBounds nest_;
};

}  // namespace

bool LoopBounds::constant() const {
  return lower.size() == 1 && upper.size() == 1 && lower[0].form.is_constant() &&
         upper[0].form.is_constant();
}

LoopNestBounds loop_bounds(const Domain& domain, std::span<const size_t> order) {
  return NestBuilder(domain, order).build();
}

}  // namespace adjit::domain
