// runtime/expr/interval.hpp -- the range of an index expression over a box.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::expr {

/// lo <= value <= hi.
struct ValueRange {
  int64_t lo = 0, hi = 0;
};

/// Ranges of the integer expressions of a pool where axis k runs over 0 <= axis < extents[k] (an
/// empty axis counts as one point). Reads may hold whatever their dtype does; min, max and selects
/// by comparisons bound floats that become indices, too, so that int32(floor(clip(x, 0, 9))) is 0
/// to 9 for every x, NaN included. Each distinct node is looked at once.
class Intervals {
 public:
  Intervals(const ExprPool& pool, std::span<const int64_t> extents)
      : pool_(&pool), extents_(extents.begin(), extents.end()) {}

  /// A range that contains every value of the expression; nullopt when an int64 expression is
  /// unknown by data or overflow, and for floats.
  std::optional<ValueRange> of(ExprId expr);

 private:
  /// Every value but NaN lies in lo .. hi (none does where lo > hi).
  struct FloatRange {
    double lo = 0, hi = 0;
    bool nan = false;
  };
  struct Range {
    ValueRange whole;  // of integers and bool
    FloatRange real;   // of floats
  };
  /// `subject` lies in `range`, by a comparison on the way.
  struct Assumption {
    ExprId subject;
    FloatRange range;
  };

  void visit(ExprId id);
  ValueRange whole(ExprId id) const;
  ValueRange of_cast(ExprId id) const;
  FloatRange real(ExprId id) const;
  FloatRange select(ExprId id, std::vector<Assumption>& assumed) const;
  FloatRange branch(ExprId id, std::vector<Assumption>& assumed) const;
  std::optional<Assumption> assumption(ExprId condition, bool holds) const;

  const ExprPool* pool_;
  std::vector<int64_t> extents_;
  std::unordered_map<uint32_t, Range> known_;
};

/// The range of one expression, as Intervals has it.
std::optional<ValueRange> interval_of(const ExprPool& pool, ExprId expr,
                                      std::span<const int64_t> extents);

}  // namespace adjit::expr
