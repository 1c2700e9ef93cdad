// runtime/expr/interval.hpp -- the range of an index expression over a box.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/expr/expr.hpp"

namespace adjit {

/// lo <= value <= hi.
struct ValueRange {
  int64_t lo = 0, hi = 0;
};

/// A range that contains every value of an int64 expression where axis k runs over 0 <= axis <
/// extents[k] (an empty axis counts as one point); nullopt when data or overflow make it unknown.
/// Linear in distinct nodes.
std::optional<ValueRange> interval_of(const ExprPool& pool, ExprId expr,
                                      std::span<const int64_t> extents);

}  // namespace adjit
