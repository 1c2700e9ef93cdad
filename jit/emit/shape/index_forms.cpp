// jit/emit/shape/index_forms.cpp -- forms of index expressions, and the values that they take.
#include "jit/emit/shape/index_forms.hpp"

#include <algorithm>

#include "runtime/expr/interval.hpp"

namespace adjit::emit {

IndexForms::IndexForms(const ExprPool& pool, Domain domain, std::vector<Interval> axis_ranges)
    : pool_(pool), domain_(std::move(domain)), ranges_(std::move(axis_ranges)) {}

const std::optional<Affine>& IndexForms::form(ExprId id) {
  const auto found = forms_.find(id.value);
  if (found != forms_.end()) return found->second;
  const size_t divisions = domain_.divisions.size();
  std::optional<Affine> form = as_affine(pool_, id, domain_);
  if (form && !stays_small(*form)) {
    form.reset();
    domain_.divisions.resize(divisions);
    ranges_.resize(std::min(ranges_.size(), domain_.variable_count()));
  }
  return forms_.emplace(id.value, std::move(form)).first->second;
}

const std::optional<Affine>& IndexForms::known(ExprId id) const {
  const auto found = forms_.find(id.value);
  invariant(found != forms_.end(), "the form of an expression is asked for that has no value");
  return found->second;
}

std::optional<Interval> IndexForms::range_of(ExprId id) {
  const std::optional<Affine>& form = this->form(id);
  return form ? std::optional(range(*form)) : std::nullopt;
}

bool IndexForms::stays_small(const Affine& form) {
  constexpr int64_t kLimit = int64_t{1} << 60;
  try {
    while (ranges_.size() < domain_.variable_count()) {
      const Division& division = domain_.divisions[ranges_.size() - domain_.rank()];
      const Interval n = range(division.numerator);
      ranges_.push_back({floor_div(n.lo, division.divisor), floor_div(n.hi, division.divisor)});
    }
    // A quotient is computed by sums of its numerator and its divisor.
    for (size_t k = domain_.rank(); k < form.size(); ++k) {
      if (form.coefficient(k) == 0) continue;
      const Division& division = domain_.divisions[k - domain_.rank()];
      if (division.divisor >= kLimit || !stays_small(division.numerator)) return false;
    }
    const Interval r = range(form);
    return r.lo > -kLimit && r.hi < kLimit;
  } catch (const Overflow&) {
    return false;
  }
}

bool IndexForms::in_bounds(ExprId read, std::span<const int64_t> shape) {
  const auto inside_axes = [&] {  // which attached nests leave at the ends of a region
    for (size_t a = 0; a < domain_.rank(); ++a)
      if (ranges_[a].lo < 0 || ranges_[a].hi >= domain_.extents[a]) return false;
    return true;
  };
  const std::span<const ExprId> index = pool_.read_index(read);
  for (size_t d = 0; d < index.size(); ++d) {
    if (const auto r = range_of(index[d]); r && r->lo >= 0 && r->hi < shape[d]) continue;
    // Of data, limited by min and max; or a remainder, which is x - n (x // n) as a form, and
    // forgets that both are of the same x.
    if (!inside_axes()) return false;
    const auto range = interval_of(pool_, index[d], domain_.extents);
    if (!range || range->lo < 0 || range->hi >= shape[d]) return false;
  }
  return true;
}

}  // namespace adjit::emit
