// runtime/domain/bounds.hpp -- what is certainly true over a domain: intervals, implied rows,
// emptiness.
//
// Answers are proofs: `true` and the ends of an interval always hold; `false` means "not proven"
// (integer reasoning is Fourier-Motzkin with integer tightening, within a bounded number of rows).
// All functions are pure and thread-safe. Those of a domain never throw Overflow: an overflow is
// "not proven".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/graph/domain.hpp"

namespace adjit::domain {

/// All integers lo <= x <= hi; empty when lo > hi.
struct Interval {
  int64_t lo = 0;
  int64_t hi = -1;
  bool empty() const { return lo > hi; }
  /// hi - lo + 1, 0 when empty.
  int64_t size() const { return empty() ? 0 : hi - lo + 1; }
  bool operator==(const Interval&) const = default;
};

/// Values of `form` where variable k is in variables[k]. Throws Overflow.
Interval interval(const Affine& form, std::span<const Interval> variables);

/// Values of `form` (over domain's axes and divisions) on the box of the axes, each division
/// bounded by its own numerator; rows are ignored. Exact for a form without divisions. std::nullopt
/// on overflow, an empty interval when an axis has extent 0.
std::optional<Interval> box_interval(const Domain& domain, const Affine& form);

/// As box_interval, also using the rows: the tightest ends that Fourier-Motzkin proves (not looser
/// than box_interval). An empty interval when the domain is provably empty.
std::optional<Interval> interval(const Domain& domain, const Affine& form);

/// Whether `row` >= 0 holds at every point of the domain, provably.
bool implies(const Domain& domain, const Affine& row);

/// Whether `row` == 0 holds at every point of the domain, provably.
bool implies_zero(const Domain& domain, const Affine& row);

/// Whether the domain has no point, provably.
bool provably_empty(const Domain& domain);

/// The same points and the same variables without the rows that the box and the other rows imply.
Domain tighten(Domain domain);

}  // namespace adjit::domain
