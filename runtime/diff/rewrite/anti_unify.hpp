// runtime/diff/rewrite/anti_unify.hpp -- expressions that differ by constants as one, over new
// axes.
//
// Worked example, with two axes numbered 4 and 5:
//   x[y, z], x[y, z + 1], x[y + 1, z], x[y + 1, z + 1]   ->   x[y + a4, z + a5]
//   values: (0, 0), (0, 1), (1, 0), (1, 1)
// (Anti-unification: the least general generalization, Plotkin 1970; here only integer constants
// are generalized, by arithmetic progressions.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// The largest extent of a tensor that is read at generalized places: below it an int32 place plus
/// a few is out of range whether it wraps or not.
inline constexpr int64_t kLargestGeneralized = int64_t{1} << 30;

/// `expr` at axis `first_axis + a` = values[t][a] for every a is the t-th expression, but for an
/// int32 sum inside an index, which does not wrap here (a read there is out of range both ways).
struct AntiUnified {
  ExprId expr;
  std::vector<int64_t> extents;              // of the new axes
  std::vector<std::vector<int64_t>> values;  // per expression, per new axis
};

/// Generalizes the expressions over new axes numbered from `first_axis`. Constants that differ in
/// the same way share an axis; its values run from 0 in steps of one. Nothing where the expressions
/// differ otherwise, or where a constant's values are no arithmetic progression.
std::optional<AntiUnified> anti_unify(ExprPool& pool, std::span<const ExprId> expressions,
                                      size_t first_axis);

/// Whether the expressions are the points of the new axes' box, each once.
bool is_whole_box(const AntiUnified& all);

}  // namespace adjit::diff
