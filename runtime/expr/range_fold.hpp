// runtime/expr/range_fold.hpp -- index expressions made simpler by what the ranges of their parts
// say.
//
// Worked example, a place in a flattened image of 128 columns, with 0 <= y, x < 128:
//   select(y * 128 + x < 0, y * 128 + x + 16384, y * 128 + x) // 128   ->   y
#pragma once

#include <cstdint>
#include <span>

#include "runtime/expr/expr.hpp"

namespace adjit::expr {

/// The expression where axis k runs over 0 <= axis < extents[k], equal to `root` at every point:
/// comparisons, min and max that interval arithmetic (interval.hpp) decides are gone; int32 sums
/// and products that cannot wrap are widened before instead of behind; x * (c * d) + y divided by d
/// is x * c, and its remainder y, where 0 <= y < d.
ExprId folded_by_ranges(ExprPool& pool, ExprId root, std::span<const int64_t> extents);

}  // namespace adjit::expr
