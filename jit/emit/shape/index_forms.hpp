// jit/emit/shape/index_forms.hpp -- the index expressions of one stage as affine forms.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::emit {

/// Forms over the axes of a domain and its divisions, to which it adds those that forms need.
class IndexForms {
 public:
  /// `axis_ranges`: the values that each axis takes (more than its extent where a region is
  /// clipped). The pool must outlive it.
  IndexForms(const ExprPool& pool, Domain domain, std::vector<Interval> axis_ranges);

  /// The form of an Int64 expression. Nothing where it is not affine, or where sums and differences
  /// of such forms might leave 64 bits: arithmetic that does so wraps, and is left to operations.
  const std::optional<Affine>& form(ExprId id);
  /// That of an expression that has been asked for.
  const std::optional<Affine>& known(ExprId id) const;
  /// The values of a form where the axes are in their ranges.
  Interval range(const Affine& form) const { return interval(form, ranges_); }
  /// Those of an expression; nothing where it has no form.
  std::optional<Interval> range_of(ExprId id);
  /// Whether a read is of an element of a tensor of this shape wherever the axes are in their
  /// ranges.
  bool in_bounds(ExprId read, std::span<const int64_t> shape);

  const ExprPool& pool() const { return pool_; }
  const Domain& domain() const { return domain_; }

 private:
  bool stays_small(const Affine& form);

  const ExprPool& pool_;
  Domain domain_;
  std::vector<Interval> ranges_;  // of domain_'s variables, as far as they were needed
  std::unordered_map<uint32_t, std::optional<Affine>> forms_;
};

}  // namespace adjit::emit
