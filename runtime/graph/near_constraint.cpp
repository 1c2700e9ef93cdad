// runtime/graph/near_constraint.cpp -- a constraint with numbers that code can count.
#include "runtime/graph/near_constraint.hpp"

#include <algorithm>

namespace adjit::graph {
namespace {

class NearConstraint {
 public:
  NearConstraint(bool equality, const Domain& domain, int64_t farthest)
      : equality_(equality), domain_(domain), farthest_(farthest) {}

  // nullopt: holds always.
  std::optional<Affine> operator()(const Affine& form) const {
    if (!has_far_number(form)) return form;
    if (const std::optional<ValueRange> range = range_of(form)) {
      if (range->lo >= 0 && (!equality_ || range->hi == 0)) return std::nullopt;
      if (range->hi < 0 || (equality_ && range->lo > 0)) return Affine(-1);
    }
    std::optional<Affine> divided = divided_by_gcd(form);
    if (!divided) return Affine(-1);
    for (size_t k = 0; k < divided->size(); ++k)
      if (is_far(divided->coefficient(k)))
        if (std::optional<Affine> near = with_smaller(*divided, k)) return near;
    return divided;
  }

 private:
  bool is_far(int64_t number) const { return number > farthest_ || number < -farthest_; }
  // nullopt: beyond 64 bits.
  std::optional<ValueRange> range_of(const Affine& form) const {
    try {
      return domain_.box_range(form);
    } catch (const Overflow&) {
      return std::nullopt;
    }
  }
  bool has_far_number(const Affine& form) const {
    return is_far(form.constant()) ||
           std::ranges::any_of(form.coefficients(), [&](int64_t c) { return is_far(c); });
  }

  // nullopt: holds nowhere.
  std::optional<Affine> divided_by_gcd(const Affine& form) const {
    const int64_t gcd = std::max<int64_t>(gcd_of_coefficients(form), 1);
    if (equality_ && form.constant() % gcd != 0) return std::nullopt;
    Affine divided(expr::floor_div(form.constant(), gcd));
    for (size_t k = 0; k < form.size(); ++k) divided.set_coefficient(k, form.coefficient(k) / gcd);
    return divided;
  }

  // c v + rest, with lo <= rest <= hi and hi - lo < |c|: there is one v, "here", where rest counts,
  // ceil(-hi / c); before it the form is negative, behind it positive. Any coefficient for which
  // that is so does, and rest may be replaced by what has its sign at that v. nullopt where rest is
  // too wide.
  std::optional<Affine> with_smaller(const Affine& form, size_t v) const {
    try {
      const int64_t c = form.coefficient(v), sign = c > 0 ? 1 : -1;
      Affine rest = form;
      rest.set_coefficient(v, 0);
      const ValueRange range = domain_.box_range(rest);
      if (Exact(range.hi) - range.lo >= sign * c) return std::nullopt;
      const Exact here = Exact(0) - expr::floor_div(range.hi, sign * c);
      rest += here * (sign * c);
      const Affine near = (*this)(rest).value_or(Affine(0));
      const ValueRange nearer = domain_.box_range(near);
      const int64_t strictly = equality_ ? 1 : 0;
      const Exact smaller = std::max(-Exact(nearer.lo) + strictly, Exact(nearer.hi) + 1);
      return near + (Affine::variable(v, sign) - Affine(here)) * smaller;
    } catch (const Overflow&) {
      return std::nullopt;
    }
  }

  const bool equality_;
  const Domain& domain_;
  const int64_t farthest_;
};

}  // namespace

std::optional<Affine> near_constraint(const Affine& form, bool equality, const Domain& domain,
                                      int64_t farthest) {
  return NearConstraint(equality, domain, farthest)(form);
}

}  // namespace adjit::graph
