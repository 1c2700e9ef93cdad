// runtime/diff/indices/piecewise_index.hpp -- indices that are functions of one affine form.
//
// Worked example: over 0 <= i < 8, 0 <= r < 3 the index clip(i + r - 1, 0, 7) is a function of the
// form i + r - 1, whose values t run from -1 to 8:
//   0 for t < 0,   t for 0 <= t < 8,   7 for 8 <= t.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// The values start, start + step, ... at t = begin .. end - 1.
struct AffinePiece {
  int64_t begin = 0, end = 0;
  int64_t start = 0, step = 0;
  int64_t at(int64_t t) const { return start + step * (t - begin); }
  int64_t last() const { return at(end - 1); }
  bool operator==(const AffinePiece&) const = default;
};

/// A function of integers on an interval: neighbouring pieces without gaps, in order, at least one,
/// each as long as it can be.
using Piecewise = std::vector<AffinePiece>;

/// An index as `map` of the values of `form`.
struct PiecewiseIndex {
  Affine form;  // over the domain's variables
  Piecewise map;
};

/// The Int64 expression as a function of one form, which `domain` may get divisions for: made of
/// multiples of the form and constants by min, max, abs, sign, select, comparisons and arithmetic.
/// nullopt where it is not, where it is constant, where the form is not bounded, or where the
/// function has more than kMostPiecewise pieces.
std::optional<PiecewiseIndex> piecewise_index(ExprPool& pool, ExprId index, Domain& domain);

/// Mirrored or clipped at both ends: three pieces; twice over: five.
inline constexpr size_t kMostPiecewise = 8;

/// The function on both intervals together; nullopt where the two differ on a common argument, or
/// where there is a gap between the intervals.
std::optional<Piecewise> joined(const Piecewise& a, const Piecewise& b);

}  // namespace adjit::diff
